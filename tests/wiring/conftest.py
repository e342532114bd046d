from tests.support.database import database_server, database_template, database_url, empty_database_url, store

__all__ = ["database_server", "database_template", "database_url", "empty_database_url", "store"]
