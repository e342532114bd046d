"""Runs of the recurring jobs, and the reference data that one of them fetches."""

from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, JsonB, Moment


class JobRunRow(Base):
    """One run of a recurring job. Not sharded: a handful of rows a day."""

    __tablename__ = "job_runs"

    job: Mapped[str] = mapped_column(primary_key=True)
    started_at: Mapped[Moment] = mapped_column(primary_key=True)
    finished_at: Mapped[Moment | None]
    outcome: Mapped[str]  # jobs.RunOutcome; "running" also for a run whose process has died since
    figures: Mapped[JsonB]
    error: Mapped[str | None]


class ReferenceRow(Base):
    """Reference data newer than the copy that this program was shipped with. Every process reads it."""

    __tablename__ = "reference_data"

    name: Mapped[str] = mapped_column(primary_key=True)
    body: Mapped[Bytes]
    sha256: Mapped[Bytes]
    url: Mapped[str]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    fetched_at: Mapped[Moment]  # when this body was fetched
    checked_at: Mapped[Moment]  # when the publisher last confirmed it as current
