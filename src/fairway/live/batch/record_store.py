"""Records and books on an API server, as the desk and its accounts see them.

In: jobs as the desk writes them down, the writes of its books, and what was listed when we began to lead. Out: letters
for the outbox; and all of it again. Two views: of accounts what was written last, which is right as long as nobody else
writes, of records what the server is known to have. So a charge is added only for a record whose end is on the server
(1 before 2), a record says that it is settled only after its account has it (2 before 4), and an account forgets it
only after the record says so (4 before 5), wherever we are killed. This is `fairway.batch.accounts.BookStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from fairway.batch.accounts import AccountBook, ChargeLine, RecordBook, record_book
from fairway.batch.job import BatchJob, JobRecord
from fairway.live.batch.objects import AccountObject, BatchObject, JobRecordObject
from fairway.live.batch.outbox import ObjectKey, Outbox, Written
from fairway.live.batch.record_codec import RecordTerms, read_record, record_status

__all__ = ["RecordStore", "key_of"]

CREATE_DELAY = 1.0  # of a new record: a job that starts at once is written down once
MOST_PLAIN = 244  # of a name, so that something may be added


def key_of(thing: BatchObject) -> ObjectKey:
    """Which object it is."""
    return ObjectKey(type(thing), thing.metadata.name, thing.metadata.namespace)


class RecordStore:
    """Records by uid of the job, books by account."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._keys: dict[str, ObjectKey] = {}  # by uid of the job
        self._uids: dict[ObjectKey, str] = {}
        self._written: dict[str, JobRecord] = {}  # as the server is known to have them
        self._latest: dict[str, JobRecord] = {}  # as they are to be
        self._terms: dict[str, RecordTerms] = {}
        self._unsettled: dict[str, dict[str, None]] = {}  # by account: uids of final records that the server has
        self._books: dict[str, AccountBook] = {}
        self._version = 0
        self.tell_ended: Callable[[str], None] = lambda account: None

    # -- what is there -------------------------------------------------------------------------------------------------

    def load(self, accounts: Iterable[AccountObject], records: Iterable[JobRecordObject]) -> list[str]:
        """All that is written down; returns what can not be read, which is left as it is."""
        problems = []
        for account in accounts:
            self.learn_account(account)
        for thing in records:
            key = key_of(thing)
            meta = thing.metadata
            self._outbox.known[key] = Written(meta.uid, meta.resource_version, dict(thing.status))
            try:
                record = read_record(thing)
            except ValueError as error:
                problems.append(f"{key.title}: {error}")
                continue
            if record is not None:
                self._keys[record.uid], self._uids[key] = key, record.uid
                self._latest[record.uid] = record
                self._note(record)
        return problems

    def learn_account(self, thing: AccountObject) -> None:
        """An account is there, of which nothing was known."""
        key = key_of(thing)
        if key not in self._outbox.known:
            meta = thing.metadata
            self._outbox.known[key] = Written(meta.uid, meta.resource_version, dict(thing.status))
            self._books[key.name] = msgspec.convert(thing.status.get("book", {}), AccountBook)

    def forget_account(self, name: str) -> None:
        """It was deleted, and its book with it."""
        self._outbox.forget(ObjectKey(AccountObject, name))
        self._books.pop(name, None)

    def records(self) -> Iterator[JobRecord]:
        """All that are known."""
        return iter(list(self._latest.values()))

    def uid_of(self, key: ObjectKey) -> str:
        """The job that a record is of; "": none that we know."""
        return self._uids.get(key, "")

    def find(self, uid: str) -> ObjectKey | None:
        """The record of a job."""
        return self._keys.get(uid)

    # -- records -------------------------------------------------------------------------------------------------------

    def put(self, job: BatchJob, terms: RecordTerms, head: dict[str, Any], *, is_urgent: bool = True) -> None:
        """Write a job down as it is now; `head`: what its record has besides its name, if it has to be made."""
        record = job.record()
        key = self._keys.get(job.uid)
        is_new = key is None
        if key is None:
            key = self._new_key(record)
            self._keys[job.uid], self._uids[key] = key, job.uid
        if key not in self._outbox.known:
            self._outbox.heads[key] = head
        self._latest[job.uid], self._terms[job.uid] = record, terms
        delay = CREATE_DELAY if is_new else 0.0
        self._outbox.put(key, record_status(record, terms), record, delay=delay, is_urgent=is_urgent)

    def _new_key(self, record: JobRecord) -> ObjectKey:
        """Of the job's name; of a later one of that name with something more."""
        namespace, _, name = record.key.partition("/")
        key = ObjectKey(JobRecordObject, name[:MOST_PLAIN], namespace)
        if key in self._uids or key in self._outbox.known:
            key = key._replace(name=f"{key.name}-{record.uid[:8]}")
        return key

    def confirmed(self, key: ObjectKey, payload: Any) -> bool:
        """Something is on the server now; says whether it was a record that is done with."""
        if not isinstance(payload, JobRecord):
            return False
        self._note(payload)
        return payload.ledger.is_settled

    def _note(self, record: JobRecord) -> None:
        """The server has this record."""
        ledger, uid = record.ledger, record.uid
        self._written[uid] = record
        if ledger.is_final and ledger.billed is not None:
            waiting = self._unsettled.setdefault(ledger.billed.account, {})
            if ledger.is_settled:
                waiting.pop(uid, None)
            elif uid not in waiting:
                waiting[uid] = None
                self.tell_ended(ledger.billed.account)

    def forget_settled(self) -> None:
        """Nothing more is to be said of these; what is on the server stays."""
        for uid, record in list(self._written.items()):
            if record.ledger.is_settled:
                self._forget(uid)

    def gone(self, key: ObjectKey) -> str:
        """The record was deleted; returns the job that it was of."""
        uid = self._uids.pop(key, "")
        self._keys.pop(uid, None)
        self._forget(uid)
        self._outbox.forget(key)
        return uid

    def _forget(self, uid: str) -> None:
        for known in (self._written, self._latest, self._terms):
            known.pop(uid, None)
        for waiting in self._unsettled.values():
            waiting.pop(uid, None)

    # -- books ---------------------------------------------------------------------------------------------------------

    def record(self, uid: str) -> tuple[RecordBook, str] | None:
        """A job's record as the server has it."""
        found = self._written.get(uid)
        return None if found is None else (record_book(found), "")

    def records_of(self, account: str) -> Iterator[RecordBook]:
        """The records of an account's jobs that ever started."""
        for record in self.records():
            if record.ledger.billed is not None and record.ledger.billed.account == account:
                yield record_book(record)

    def unsettled(self, account: str) -> Iterable[str]:
        """The uids of the account's records that are final on the server, and not settled."""
        return tuple(self._unsettled.get(account, ()))

    def write_record(self, record: RecordBook, version: str) -> None:
        """Write what the books know of a record, after its account has it."""
        uid = record.job.uid
        latest = self._latest.get(uid)
        if latest is None or (latest.ledger.is_settled and record.is_settled):
            return  # it is gone, or on its way
        ledger = replace(
            latest.ledger, intervals=record.intervals, is_final=record.is_final, is_settled=record.is_settled
        )
        latest = self._latest[uid] = replace(latest, ledger=ledger)
        account = ObjectKey(AccountObject, record.job.account)
        terms = self._terms.get(uid, RecordTerms(record.job.account))
        self._outbox.put(self._keys[uid], record_status(latest, terms), latest, after=(account,))

    def account(self, name: str) -> tuple[AccountBook, str] | None:
        """An account's book, as it was written last."""
        found = self._books.get(name)
        return None if found is None else (found, str(self._version))

    def write_account(self, name: str, book: AccountBook, version: str) -> None:
        """Write a book."""
        self._version += 1
        self._books[name] = book
        used = f"{(book.settled + book.running) / 1000:.3f}"
        plain = msgspec.json.decode(msgspec.json.encode(book))
        key = ObjectKey(AccountObject, name)
        status = self._outbox.known[key].status if key in self._outbox.known else {}
        kept = {name: value for name, value in status.items() if name == "conditions"}
        self._outbox.put(key, kept | {"used": used, "book": plain}, book)

    def append(self, lines: Sequence[ChargeLine]) -> None:
        """There is no ledger; the lines are in the records."""
