"""The metrics of a worker and of the API as a monitoring system reads them."""

import asyncio
import contextlib
import json
import re
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from registry.core.scheduling.jobs import KINDS
from registry.wiring.schedule import JOB_BY_NAME
from tests.flow.test_kill import HOSTS, all_visited, at_work
from tests.support.hang import HANG_SECONDS
from tests.support.queries import OF_PROMETHEUS, shipped_queries, used_labels
from tests.support.running import Command, until

pytestmark = pytest.mark.slow

Figures = dict[tuple[str, str], float]


async def fetch(port: int) -> str:
    def read() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=HANG_SECONDS) as response:
            assert response.headers["Content-Type"].startswith("text/plain")
            return response.read().decode()

    return await asyncio.to_thread(read)


async def scrape(port: int) -> Figures:
    families = text_string_to_metric_families(await fetch(port))
    return {
        (sample.name, "".join(sample.labels.values())): sample.value for family in families for sample in family.samples
    }


def ports_of(command: Command) -> list[int]:
    return [json.loads(line)["port"] for line in command.output.splitlines() if "metrics.served" in line]


async def port_of(command: Command) -> int:
    await command.line_with("metrics.served")
    return ports_of(command)[0]


def faults_of_queries(text: str, queries: Iterable[tuple[str, str]]) -> set[str]:
    """Return what these queries name that no process reports: metrics, labels, and values of labels that are fixed."""
    types, labels = {"up"}, defaultdict[str, dict[str, set[str]]](lambda: defaultdict(set))
    for family in text_string_to_metric_families(text):
        types.update(f"{family.name}{end}" for end in ("", "_total", "_bucket", "_sum", "_count"))
        for sample in family.samples:
            for label, value in sample.labels.items():
                labels[sample.name][label].add(value)
    faults = set()
    for where, query in queries:
        for name, label, value in used_labels(query):
            if name not in types:
                faults.add(f"{where}: {name} is not reported")
            elif label not in OF_PROMETHEUS and name in labels:  # else no such event has been counted
                if label not in labels[name]:
                    faults.add(f"{where}: {name} has no label {label}")
                elif value is not None and value not in labels[name][label] and label != "status":
                    faults.add(f"{where}: {label} of {name} is never {value}")
    return faults


async def test_metrics_count_a_worker_s_visits_and_the_queue(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (web, data_folder):
        worker = data_folder.start("worker", "--metrics", "127.0.0.1:0")
        port = await port_of(worker)
        await all_visited(data_folder)
        figures = await scrape(port)
        assert figures["waypost_hosts_total", "found"] == len(HOSTS)
        assert figures["waypost_domains_total", "recorded"] == len(HOSTS)
        assert figures["waypost_requests_total", ""] == len(web.seen)
        assert figures["waypost_received_bytes_total", ""] > 0
        assert figures["waypost_domains_in_flight", ""] == 0
        assert figures["process_resident_memory_bytes", ""] > 0
        assert figures["waypost_database_up", ""] == 1
        states = {state for name, state in figures if name == "waypost_frontier_domains"}
        assert states == {"due", "leased", "waiting", "never"}
        assert figures["waypost_queue_age_seconds", ""] >= 0
        worker.process.terminate()
        assert await worker.exit_code() == 0
        await data_folder.until_unused()


async def test_metrics_tell_the_state_of_the_jobs(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (_, data_folder):
        data_folder.environment |= {f"WAYPOST_{job.upper()}_INTERVAL": "0" for job in JOB_BY_NAME if job != "recrawl"}
        schedule = data_folder.start("schedule", "--metrics", "127.0.0.1:0")
        port, figures = await port_of(schedule), Figures()
        while not figures.get(("waypost_database_up", "")):
            await asyncio.sleep(0.1)
            figures = await scrape(port)
        assert {job for name, job in figures if name == "waypost_job_failed"} == set(JOB_BY_NAME)
        assert {job for name, job in figures if name == "waypost_job_next_run_timestamp_seconds"} == {"recrawl"}
        of_jobs = [one for one in shipped_queries() if "waypost_job_" in one[1]]
        assert of_jobs and faults_of_queries(await fetch(port), of_jobs) == set()
        schedule.process.terminate()
        assert await schedule.exit_code() == 0
        await data_folder.until_unused()


async def test_metrics_count_the_requests_of_the_api(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, data_folder):
        options = ("--port", "0", "--metrics", "127.0.0.1:0", "--worker-metrics", "127.0.0.1:0")
        serving = data_folder.start("serve", *options)
        port = await port_of(serving)  # of the API: its worker starts later
        await serving.line_with("the API answers at")
        await until(lambda: serving.output.count("metrics.served") == 2, HANG_SECONDS, lambda: serving.output)
        url = re.search(r"http://127[0-9.:]+", await serving.line_with("the API answers at"))
        assert url is not None
        await all_visited(data_folder)
        for target in ("/api/rubric", "/api/services/zq.example", "/zq", "/healthz", "/api/discover?q=zq"):
            await asyncio.to_thread(_visit, url[0] + target)
        figures = await scrape(port)
        assert figures["waypost_http_requests_total", "apiGET/api/rubric2xx"] == 1
        assert figures["waypost_http_requests_total", "apiGET/api/services/{domain}4xx"] == 1
        assert figures["waypost_http_requests_total", "apiGETunmatched4xx"] == 1
        assert figures["waypost_http_request_duration_seconds_count", "apiGET/api/rubric"] == 1
        assert figures["waypost_http_request_duration_seconds_bucket", "api+InfGET/api/rubric"] == 1
        assert figures["waypost_response_cache_total", "miss"] == 1
        assert figures["waypost_http_requests_in_flight", ""] == 0
        assert figures["waypost_database_up", ""] == 1
        assert figures["waypost_index_lag", ""] >= 0
        assert figures["waypost_feed_lag_seconds", ""] >= 0
        assert {state for name, state in figures if name == "waypost_services"} == {"healthy", "degraded", "down"}
        assert {kind for name, kind in figures if name == "waypost_incidents"} == {*KINDS}
        assert figures["process_resident_memory_bytes", ""] > 0
        reported = "".join([await fetch(port) for port in ports_of(serving)])
        assert faults_of_queries(reported, (one for one in shipped_queries() if "waypost_job_" not in one[1])) == set()
        planted = [
            'sum by (pod) (waypost_gone{a="1"})',
            'sum by (wy) (rate(waypost_domains_total{x="1", end="no"}[5m]))',
        ]
        assert len(faults_of_queries(reported, (("planted", query) for query in planted))) == 4
        assert not [labels for name, labels in figures if "zq" in labels or "healthz" in labels]
        serving.process.terminate()
        assert await serving.exit_code() == 0
        await data_folder.until_unused()


def _visit(url: str) -> None:
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(url, timeout=HANG_SECONDS).close()


async def test_an_invalid_metrics_address_is_a_usage_error(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (_, data_folder):
        worker = data_folder.start("worker", "--metrics", "9464")
        assert await worker.exit_code() == 2
        assert re.search("'9464' is not HOST:PORT", worker.output)
