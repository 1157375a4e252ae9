"""`spec.batch.files` of a scenario: queues, accounts, windows and reservations as a cluster has them.

In: files of YAML or JSON with objects of kind Queue, Account, MaintenanceWindow and Reservation, one or several each.
Out: the section with what they say in it, as if it had been written there; or problems that name file, object and
field. Called by `Scenario.batch`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from fairway.config.fields import alternatives, shown
from fairway.config.text import parse_text
from fairway.model import DecodeError, dns_subdomain_problem
from fairway.model.batch import AccountSpec, QueueSpec, ReservationSpec, WindowSpec
from fairway.model.text_file import read_bytes
from fairway.scenario.batch_section import BatchSection
from fairway.scenario.fields import Problem, decode_struct
from fairway.scenario.named_closings import NamedReservation, NamedWindow, named
from fairway.trace.manifest_text import cut_json, cut_yaml

__all__ = ["with_files"]

API_VERSION: Final = "fairway.dev/v1alpha1"
KINDS: Final[dict[str, type[msgspec.Struct]]] = {
    "Queue": QueueSpec,
    "Account": AccountSpec,
    "MaintenanceWindow": WindowSpec,
    "Reservation": ReservationSpec,
}
HEAD: Final = ("apiVersion", "kind", "metadata", "spec", "status")


def with_files(section: BatchSection, folder: str, path: str, problems: list[Problem]) -> BatchSection:
    """The section with what its files say; what is wrong is added to `problems`."""
    if not section.files:
        return section
    queues, accounts = dict(section.queues), dict(section.accounts)
    windows, reservations = list(section.windows), list(section.reservations)
    seen = {("Queue", name): f"{path}.queues" for name in queues}
    seen |= {("Account", name): f"{path}.accounts" for name in accounts}
    for number, file in enumerate(section.files):
        for where, item in _objects(os.path.join(folder, file), f"{path}.files[{number}]", problems):  # noqa: PTH118
            field = f"{path}.files[{number}]"
            read = _read(item, field, where, problems)
            if read is None:
                continue
            kind, name, spec = read
            if (other := seen.setdefault((kind, name), where)) != where:
                problems.append(Problem(field, f"{where}: {kind} {name} is in {other} already"))
            elif isinstance(spec, QueueSpec):
                queues[name] = spec
            elif isinstance(spec, AccountSpec):
                accounts[name] = spec
            elif isinstance(spec, WindowSpec):
                windows.append(named(spec, NamedWindow, name))
            elif isinstance(spec, ReservationSpec):
                reservations.append(named(spec, NamedReservation, name))
    return msgspec.structs.replace(
        section,
        files=(),
        queues=queues,
        accounts=accounts,
        windows=tuple(windows),
        reservations=tuple(reservations),
    )


def _objects(file: str, field: str, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    """The objects of a file, each with where it is."""
    try:
        data = read_bytes(file)
        is_json = data.lstrip()[:1] in (b"{", b"[")
        pieces = list(cut_json(data, file) if is_json else cut_yaml(data, file))
    except (DecodeError, ValueError) as error:
        reason = str(error) if isinstance(error, DecodeError) else f"{file}: cannot be read: {error}"
        problems.append(Problem(field, reason))
        return
    for index, piece in enumerate(pieces):
        where = file if len(pieces) == 1 else f"{file}[{index}]"
        try:
            yield where, parse_text(piece.text)
        except (ValueError, yaml.YAMLError) as error:
            problems.append(Problem(field, f"{where}: {error}"))


def _read(item: Any, field: str, where: str, problems: list[Problem]) -> tuple[str, str, msgspec.Struct] | None:
    """Kind, name and spec of an object; None: something is wrong with it."""
    wrong = list(_head_problems(item))
    if wrong:
        problems += [Problem(field, f"{where}: {place}: {words}") for place, words in wrong]
        return None
    kind, name = item["kind"], item["metadata"]["name"]
    found: list[Problem] = []
    spec = decode_struct(item.get("spec", {}), KINDS[kind], "spec", found)
    problems += [Problem(field, f"{where}: {kind} {name}: {each.path}: {each.text}") for each in found]
    return None if spec is None else (kind, name, spec)


def _head_problems(item: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(item, dict):
        yield "object", "is no object with apiVersion, kind, metadata and spec"
        return
    kind, meta = item.get("kind"), item.get("metadata")
    if item.get("apiVersion") != API_VERSION:
        yield "apiVersion", f"must be {API_VERSION}, not {shown(item.get('apiVersion'))}"
    if not isinstance(kind, str) or kind not in KINDS:
        known = alternatives(kind[:60], list(KINDS)) if isinstance(kind, str) else f"; allowed: {', '.join(KINDS)}"
        yield "kind", f"{shown(kind)} is unknown{known}"
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(name, str):
        yield "metadata.name", "missing; say what it is called"
    elif problem := dns_subdomain_problem(name):
        yield "metadata.name", problem
    for key in item:
        if key not in HEAD:
            yield str(key)[:60], f"unknown field; allowed: {', '.join(HEAD)}"
