/* The DuckDB extension clustereval: after LOAD, a database has all macros of clustereval.
 *
 * The build embeds a DuckDB database that holds the macros (macros.h). Loading copies them to a
 * database in memory with the name clustereval, so that clustereval.rand_score is found there and
 * nothing is written to the user's database. Copying takes a tenth of the time of parsing the SQL.
 * DuckDB attaches files alone, so the embedded database is a temporary file meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#define EXPORTED __declspec(dllexport)
#else
#include <unistd.h>
#define EXPORTED __attribute__((visibility("default")))
#endif

#include "macros.h"

/* Bytes of a path, with the zero at its end. */
#define PATH_ROOM 4096

/* What errors start with. */
#define NAME "clustereval: "

/* The part of DuckDB's C API that is used here. Its version 1.2.0 is stable: newer versions of
 * DuckDB add functions to the end of the table. */
#define API_VERSION "v1.2.0"

typedef struct duckdb_database_s *duckdb_database;
typedef struct duckdb_connection_s *duckdb_connection;
typedef struct duckdb_extension_info_s *duckdb_extension_info;
typedef enum { DuckDBSuccess = 0, DuckDBError = 1 } duckdb_state;

typedef struct {
    uint64_t deprecated_numbers[3];
    void *deprecated_columns;
    char *deprecated_error_message;
    void *internal_data;
} duckdb_result;

typedef void (*unused_function)(void);

typedef struct {
    unused_function open_to_close[3];
    duckdb_state (*duckdb_connect)(duckdb_database database, duckdb_connection *connection);
    unused_function interrupt_to_query_progress[2];
    void (*duckdb_disconnect)(duckdb_connection *connection);
    unused_function library_version_to_destroy_config[6];
    duckdb_state (*duckdb_query)(duckdb_connection connection, const char *query,
                                 duckdb_result *result);
    void (*duckdb_destroy_result)(duckdb_result *result);
    unused_function column_name_to_rows_changed[6];
    const char *(*duckdb_result_error)(duckdb_result *result);
} duckdb_api;

struct duckdb_extension_access {
    void (*set_error)(duckdb_extension_info info, const char *error);
    duckdb_database *(*get_database)(duckdb_extension_info info);
    const void *(*get_api)(duckdb_extension_info info, const char *version);
};

/* What the functions below need, and what they report. */
typedef struct {
    const duckdb_api *api;
    duckdb_connection connection;
    char error[1024];
} loading;

/* With a database or a schema of this name, those of the macros would be ambiguous. */
static const char REFUSE_TAKEN_NAME[] =
    "SELECT error('there is a ' || kind || ' \"clustereval\" already, so that the names of the "
    "macros would be ambiguous: drop or detach it, or give it another name') FROM ("
    "SELECT 'database' AS kind FROM duckdb_databases() WHERE lower(database_name) = 'clustereval' "
    "UNION ALL SELECT 'schema' FROM duckdb_schemas() WHERE lower(schema_name) = 'clustereval' "
    "AND NOT database_name = 'clustereval')";

static const char COPY_MACROS[] =
    "ATTACH ':memory:' AS clustereval (READ_WRITE);"
    "COPY FROM DATABASE __ce_embedded TO clustereval (SCHEMA);"
    "DETACH __ce_embedded";

static const char REMOVE_DATABASES[] =
    "DETACH DATABASE IF EXISTS __ce_embedded; DETACH DATABASE IF EXISTS clustereval";

/* Execute statements; on an error, keep its text, with words before it. */
static bool execute(loading *load, const char *statements, const char *before) {
    duckdb_result result;
    bool is_done = load->api->duckdb_query(load->connection, statements, &result) == DuckDBSuccess;
    if (!is_done) {
        const char *error = load->api->duckdb_result_error(&result);
        snprintf(load->error, sizeof load->error, "%s%s", before, error ? error : "no reason given");
    }
    load->api->duckdb_destroy_result(&result);
    return is_done;
}

/* Keep a reason of the extension's own. */
static bool fail(loading *load, const char *reason) {
    snprintf(load->error, sizeof load->error, NAME "%s", reason);
    return false;
}

/* Write the name of a new, empty file to path, which has room for size bytes: UTF-8 with slashes,
 * because DuckDB expects that. */
static FILE *create_temporary_file(char *path, size_t size) {
#ifdef _WIN32
    wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
    if (!GetTempPathW(MAX_PATH + 1, folder) || !GetTempFileNameW(folder, L"cev", 0, name) ||
        !WideCharToMultiByte(CP_UTF8, 0, name, -1, path, (int)size, NULL, NULL)) {
        return NULL;
    }
    return _wfopen(name, L"wb");
#else
    const char *folder = getenv("TMPDIR");
    int length = snprintf(path, size, "%s/clustereval-XXXXXX", folder && *folder ? folder : "/tmp");
    if (length < 0 || (size_t)length >= size) {
        return NULL;
    }
    int descriptor = mkstemp(path);
    return descriptor < 0 ? NULL : fdopen(descriptor, "wb");
#endif
}

static void remove_file(const char *path) {
#ifdef _WIN32
    wchar_t name[MAX_PATH + 1];
    if (MultiByteToWideChar(CP_UTF8, 0, path, -1, name, MAX_PATH + 1)) {
        DeleteFileW(name);
    }
#else
    unlink(path);
#endif
}

/* Attach the file at path. A quote in it is doubled, as in every SQL literal. */
static bool attach_embedded(loading *load, const char *path) {
    static const char START[] = "ATTACH '", END[] = "' AS __ce_embedded (READ_ONLY)";
    char statement[2 * PATH_ROOM + sizeof START + sizeof END];
    char *end = statement + sprintf(statement, "%s", START);
    for (const char *next = path; *next; next++) {
        if (*next == '\'') {
            *end++ = '\'';
        }
        *end++ = *next;
    }
    sprintf(end, "%s", END);
    return execute(load, statement,
                   "clustereval needs DuckDB 1.5.5 or newer, and to read a temporary file: ");
}

/* Copy the macros to a new database in memory. On an error, none is left. */
static bool copy_macros(loading *load) {
    char path[PATH_ROOM];
    FILE *file = create_temporary_file(path, sizeof path);
    if (!file) {
        return fail(load, "cannot create a file in the folder for temporary files (TMPDIR, TEMP)");
    }
    bool is_written = fwrite(MACROS, 1, sizeof MACROS, file) == sizeof MACROS;
    is_written = fclose(file) == 0 && is_written;
    bool is_done = is_written ? attach_embedded(load, path) && execute(load, COPY_MACROS, NAME)
                              : fail(load, "no space for 3 MB in the folder for temporary files");
    if (!is_done) {
        loading removal = *load;
        execute(&removal, REMOVE_DATABASES, NAME);
    }
    remove_file(path);
    return is_done;
}

/* What DuckDB calls when it loads the extension. */
EXPORTED bool clustereval_init_c_api(duckdb_extension_info info,
                                     struct duckdb_extension_access *access) {
    loading load = {.api = access->get_api(info, API_VERSION)};
    if (!load.api) {
        return false; /* DuckDB has said why. */
    }
    if (load.api->duckdb_connect(*access->get_database(info), &load.connection) == DuckDBError) {
        access->set_error(info, NAME "cannot open a connection to the database");
        return false;
    }
    bool is_done = execute(&load, REFUSE_TAKEN_NAME, NAME) && copy_macros(&load);
    load.api->duckdb_disconnect(&load.connection);
    if (!is_done) {
        access->set_error(info, load.error);
    }
    return is_done;
}
