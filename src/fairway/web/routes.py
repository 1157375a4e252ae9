"""The table of routes: what may be asked under which path, how it is answered, and by whom.

In: a path below `/fairway/api/v1` and the values of its query. Out: a `Route` and a question of its type, or a
`PageError` that says what is wrong with it. The same table is what `openapi` publishes. Called by `server`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec

from fairway.web import curves, decisions, heat_rows, lanes, nodes, plugin_profile, pods, search, waiting_queue
from fairway.web.compared.compared_pods import compared_pods
from fairway.web.compared.comparison import compared, metrics
from fairway.web.device_subject import DEVICE
from fairway.web.heat_map import HeatMap, HeatTile, HeatView
from fairway.web.job_queues import jobs_page, one_job, shares
from fairway.web.live.event_stream import EventStream
from fairway.web.page_error import PageError
from fairway.web.paging import PageOf
from fairway.web.picture_shapes import CellAnswer, LanesAnswer, RowsAnswer
from fairway.web.questions import (
    ByRun,
    CellQuestion,
    ComparedPodsQuestion,
    CompareQuestion,
    CurveQuestion,
    DecisionQuestion,
    DecisionsQuestion,
    DeviceCellQuestion,
    DeviceRowsQuestion,
    DevicesQuestion,
    DeviceTileQuestion,
    JobQuestion,
    JobsQuestion,
    LanesQuestion,
    MomentQuestion,
    NodesQuestion,
    NoQuestion,
    PodQuestion,
    PodsQuestion,
    QueueQuestion,
    RowsQuestion,
    SearchQuestion,
    SomePodsQuestion,
    StreamQuestion,
    StretchQuestion,
    TileQuestion,
    WhyQuestion,
)
from fairway.web.shapes import (
    ComparedPods,
    ComparedRuns,
    CurveAnswer,
    DecisionAnswer,
    DecisionColumns,
    DeviceColumns,
    Document,
    FoundNames,
    JobColumns,
    MetricAnswer,
    NodeColumns,
    PluginTree,
    PodColumns,
    QueuePage,
    RunsAnswer,
    SharesAnswer,
    WaitingAnswer,
    WaitsAnswer,
)
from fairway.web.sources import RunSource, RunSources

__all__ = ["ROUTES", "Route", "ServedTile", "asked", "question_of"]

Q = TypeVar("Q", bound=ByRun)
T = TypeVar("T")
Answerer = Callable[[RunSources, Any], Any]
LINE: Final = re.compile(r"^(?P<text>.*?)(?: - at `\$\.?(?P<name>[^`\[]*)[^`]*`)?$", re.DOTALL)


class ServedTile(NamedTuple):
    """A tile on its way out."""

    tile: HeatTile
    is_final: bool  # it was asked for by the version of its run, so it stays as it is


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the table."""

    path: str
    question: type[NoQuestion]
    answer: Any  # type of what is answered
    ask: Answerer | None  # None: a worker process answers, or it is a stream
    line: Literal["questions", "tiles", "why", "stream"] = "questions"  # in which it waits for its turn
    is_table: bool = False

    @property
    def parts(self) -> list[str]:
        """Of its path."""
        return self.path[1:].split("/")


def _of_run(answer: Callable[[RunSource, Q], Any]) -> Answerer:
    return lambda sources, question: answer(sources.find(question.run), question)


def _runs(sources: RunSources, _: NoQuestion) -> RunsAnswer:
    return RunsAnswer([source.known for source in sources.all])


def _tile(source: RunSource, question: TileQuestion) -> ServedTile:
    view = HeatView(source.resource(question.resource), question.order, question.filter, question.stat)
    return _served(source, source.nodes, view, question)


def _device_tile(source: RunSource, question: DeviceTileQuestion) -> ServedTile:
    view = HeatView(DEVICE, question.order, question.filter, question.stat)
    return _served(source, source.devices, view, question)


def _served(
    source: RunSource, heat: HeatMap, view: HeatView, question: TileQuestion | DeviceTileQuestion
) -> ServedTile:
    if question.v is not None and question.v != source.version:
        hint = f"ask again with v={source.version}, or load the page again"
        raise PageError(404, "other_version", f"v: {source.id} has another content than that", hint)
    nodes.row_order(heat, view)  # what is wrong with order and filter is told
    tile = heat.tile(view, question.z, question.k, question.x, question.y)
    return ServedTile(tile, question.v is not None and source.state == "complete")


ROUTES: Final = (
    Route("/runs", NoQuestion, RunsAnswer, _runs),
    Route("/runs/{run}/metrics", ByRun, MetricAnswer, _of_run(lambda source, _: metrics(source))),
    Route("/runs/{run}/waits", SomePodsQuestion, WaitsAnswer, _of_run(pods.waits)),
    Route("/runs/{run}/curves/{what}", CurveQuestion, CurveAnswer, _of_run(curves.curves)),
    Route("/runs/{run}/nodes", NodesQuestion, PageOf[NodeColumns], _of_run(nodes.nodes_page), is_table=True),
    Route("/runs/{run}/heat/{resource}/cell", CellQuestion, CellAnswer, _of_run(nodes.node_cell), "tiles"),
    Route("/runs/{run}/heat/{resource}/{z}/{k}/{x}/{y}", TileQuestion, ServedTile, _of_run(_tile), "tiles"),
    Route("/runs/{run}/heat/{resource}/rows", RowsQuestion, RowsAnswer, _of_run(heat_rows.node_rows), "tiles"),
    Route("/runs/{run}/lanes", LanesQuestion, LanesAnswer, _of_run(lanes.lanes)),
    Route("/runs/{run}/devices", DevicesQuestion, PageOf[DeviceColumns], _of_run(nodes.devices_page), is_table=True),
    Route("/runs/{run}/devices/heat/rows", DeviceRowsQuestion, RowsAnswer, _of_run(heat_rows.device_rows), "tiles"),
    Route("/runs/{run}/devices/heat/cell", DeviceCellQuestion, CellAnswer, _of_run(nodes.device_cell), "tiles"),
    Route("/runs/{run}/devices/heat/{z}/{k}/{x}/{y}", DeviceTileQuestion, ServedTile, _of_run(_device_tile), "tiles"),
    Route("/runs/{run}/pods", PodsQuestion, PageOf[PodColumns], _of_run(pods.pods_page), is_table=True),
    Route("/runs/{run}/pods/{namespace}/{name}", PodQuestion, Document, _of_run(pods.pod_story)),
    Route("/runs/{run}/why/{namespace}/{name}", WhyQuestion, Document, None, "why"),
    Route("/runs/{run}/decisions", DecisionsQuestion, PageOf[DecisionColumns], _of_run(decisions.decisions_page),
          is_table=True),
    Route("/runs/{run}/decisions/{id}", DecisionQuestion, DecisionAnswer, _of_run(decisions.one_decision)),
    Route("/runs/{run}/queue", QueueQuestion, QueuePage, _of_run(waiting_queue.queue_page), is_table=True),
    Route("/runs/{run}/waiting", MomentQuestion, WaitingAnswer, _of_run(waiting_queue.waiting_groups), is_table=True),
    Route("/runs/{run}/jobs", JobsQuestion, PageOf[JobColumns], _of_run(jobs_page), is_table=True),
    Route("/runs/{run}/jobs/{namespace}/{name}", JobQuestion, Document, _of_run(one_job)),
    Route("/runs/{run}/shares", MomentQuestion, SharesAnswer, _of_run(shares), is_table=True),
    Route("/runs/{run}/plugins", StretchQuestion, PluginTree, _of_run(plugin_profile.plugin_tree)),
    Route("/runs/{run}/search", SearchQuestion, FoundNames, _of_run(search.search)),
    Route("/compare", CompareQuestion, ComparedRuns, compared),
    Route("/compare/pods", ComparedPodsQuestion, ComparedPods, compared_pods, is_table=True),
    Route("/stream", StreamQuestion, EventStream, None, "stream"),
)  # fmt: skip


def asked(path: str) -> tuple[Route, dict[str, str]]:
    """Which route a raw path below the API's is, and the values in it."""
    try:
        given = [unquote(part, errors="strict") for part in path[1:].split("/")]
    except UnicodeError:
        given = []
    for route in ROUTES:
        parts = route.parts
        if len(parts) == len(given) and all(
            part.startswith("{") or part == value for part, value in zip(parts, given, strict=True)
        ):
            return route, {part[1:-1]: value for part, value in zip(parts, given, strict=True) if part.startswith("{")}
    raise PageError(404, "no_such_route", "there is nothing under this path", "openapi.json lists what there is")


def question_of(route: Route, given: Mapping[str, str], query: str) -> Any:
    """The question, or what is wrong with it."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(route.question)}
    values: dict[str, Any] = dict(given)
    for name, value in _pairs(query):
        if name not in fields or name in given:
            near = difflib.get_close_matches(name, fields.keys() - given.keys(), n=1)
            known = ", ".join(sorted(fields.keys() - given.keys())) or "none"
            hint = f"did you mean {near[0]}?" if near else f"there are: {known}"
            raise PageError(400, "unknown_parameter", f"there is no parameter {name}", hint)
        if name == MANY.get(route.question):
            values.setdefault(name, []).append(value)
        elif name in values:
            raise PageError(400, "bad_parameter", f"{name}: it is given twice", "give it once")
        else:
            values[name] = value
    try:
        question = msgspec.convert(values, route.question, strict=False)
    except msgspec.ValidationError as error:
        found = LINE.match(str(error))
        assert found is not None
        name = found["name"]
        text = f"{name}: {found['text']}" if name else found["text"]
        raise PageError(400, "bad_parameter", text) from error
    _check_finite(question)
    return question


MANY: Final[Mapping[type[NoQuestion], str]] = {
    CompareQuestion: "run",
    ComparedPodsQuestion: "run",
    LanesQuestion: "node",
    StreamQuestion: "pod",
}
"""What may be given several times."""


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return (
            parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=100)
            if query
            else []
        )
    except ValueError as error:
        raise PageError(400, "bad_parameter", f"this is no query: {error}") from error


def _check_finite(question: NoQuestion) -> None:
    for field in msgspec.structs.fields(type(question)):
        value = getattr(question, field.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise PageError(400, "bad_parameter", f"{field.encode_name}: {value} is no time")
