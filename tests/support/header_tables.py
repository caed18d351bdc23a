"""The reader's own tables in the examples in the headers of sql/.

A header has room for a call, not for the table that it reads. The pages create theirs.
"""

from __future__ import annotations

#: Statements that create them, from files of examples/.
TABLES = """
CREATE TABLE assignments AS
SELECT species, kmeans AS cluster, id AS flower, 1 AS n FROM 'examples/iris.parquet';
CREATE TABLE points AS
SELECT
    sepal_length AS x, sepal_width AS y, petal_length AS z, [x, y, z] AS embedding,
    kmeans AS cluster, id
FROM 'examples/iris.parquet';
CREATE TABLE sweep AS
SELECT x, y, z, k, CAST(floor(z * k / 7) AS BIGINT) AS cluster
FROM points, range(1, 6) AS numbers (k);
CREATE TABLE observed AS FROM clustereval.elbow(sweep, [x, y, z], cluster, k);
CREATE TABLE reference AS
WITH uniform AS (
    SELECT *, CAST(floor(point[3] * k / 7) AS BIGINT) AS cluster
    FROM clustereval.uniform_reference(points, [x, y, z]), range(1, 6) AS numbers (k)
)
FROM clustereval.elbow(uniform, point, cluster, k, partition_by := reference_set);
CREATE TABLE gaps AS FROM clustereval.gap_statistic(observed, reference, partition_key);
CREATE TABLE runs AS
SELECT seed AS run, id, cluster FROM 'examples/digits_runs.parquet' WHERE k = 10;
CREATE TABLE night_1 AS FROM 'examples/dbt_project/nights/2026-03-01.parquet';
CREATE TABLE night_2 AS FROM 'examples/dbt_project/nights/2026-03-02.parquet';
CREATE TABLE people AS SELECT unnest([1, 2]) AS id, 1 AS cluster, 1 AS person;
CREATE TABLE matches AS SELECT 1 AS id_l, 2 AS id_r, 0.9 AS score;
CREATE TABLE labels AS SELECT 1 AS id_l, 2 AS id_r, TRUE AS is_match, 2.0 AS w;
CREATE TABLE words (id, cluster) AS VALUES ('cat', 1), ('cut', 1), ('dog', 2);
CREATE TABLE pairs (word_l, word_r, distance) AS
VALUES ('cat', 'cut', 1), ('cat', 'dog', 3), ('cut', 'dog', 3);
CREATE TABLE nearest AS SELECT 1 AS id_l, 2 AS id_r, 0.5 AS d;
CREATE TABLE topics (id, label) AS VALUES (1, 0), (2, 0), (2, 1), (3, 1), (4, 1);
CREATE TABLE communities (id, cluster) AS VALUES (1, 0), (2, 0), (2, 1), (3, 1), (4, 1);
"""
