from tests.support.database import database_server, database_template, database_url

__all__ = ["database_server", "database_template", "database_url"]
