"""Requests per address block and day, over all processes."""

from datetime import date

from sqlalchemy import BigInteger, Date
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base


class BlockDayRow(Base):
    """The key begins with the day: rows of earlier days are deleted by it."""

    __tablename__ = "block_days"

    day: Mapped[date] = mapped_column(Date, primary_key=True)  # in UTC
    block: Mapped[str] = mapped_column(primary_key=True)  # "192.0.2.0/24"
    requests: Mapped[int] = mapped_column(BigInteger)
