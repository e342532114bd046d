"""The declarative base, and the column types that all tables share."""

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import DateTime, MetaData, SmallInteger, Text
from sqlalchemy.dialects.postgresql import BYTEA, JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

# Fixed names of indexes and constraints: a migration can drop only what it can name.
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

Moment = Annotated[datetime, mapped_column(DateTime(timezone=True))]
Bytes = Annotated[bytes, mapped_column(BYTEA)]
Small = Annotated[int, mapped_column(SmallInteger)]
JsonB = Annotated[Any, mapped_column(JSONB(none_as_null=True))]
DomainKey = Annotated[str, mapped_column(Text, primary_key=True)]
HostKey = Annotated[str, mapped_column(Text, primary_key=True)]


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=_NAMES)
    type_annotation_map = {str: Text}  # noqa: RUF012  # SQLAlchemy reads it from the class
