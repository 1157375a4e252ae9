"""Records and books on an API server, as the desk and its accounts see them.

In: jobs as the desk writes them down, the writes of its books, and what was listed when we began to lead. Out: letters
for the outbox; and all of it again. Two views: of accounts what was written last, which is right as long as nobody else
writes, of records what the server is known to have. So a charge is added only for a record whose end is on the server
(1 before 2), a record says that it is settled only after its account has it (2 before 4), and an account forgets it
only after the record says so (4 before 5), wherever we are killed. With a ledger, lines are entered when the account on
the server has their charge (2 before 3), and until they are there the record is not said to be settled (3 before 4);
nothing else waits for that. This is `fairway.batch.accounts.BookStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from fairway.batch.accounts import AccountBook, ChargeLine, RecordBook, record_book
from fairway.batch.job import BatchJob, JobRecord
from fairway.batch.reasons import JobState
from fairway.live.batch.ledger_entries import LedgerEntries
from fairway.live.batch.manifests import PodManifests, former_uid
from fairway.live.batch.objects import AccountObject, BatchObject, JobRecordObject
from fairway.live.batch.outbox import ObjectKey, Outbox, Written
from fairway.live.batch.record_codec import manifests_of, read_record, record_status
from fairway.live.batch.record_terms import RecordTerms, read_terms
from fairway.live.ledger.ledger import Opening
from fairway.model import Pod

__all__ = ["RecordStore", "key_of"]

CREATE_DELAY = 2.0  # of a new record: a job that starts within that is written down when it runs, and not before
EARLY = (JobState.QUEUED, JobState.STARTING)
MOST_PLAIN = 244  # of a name, so that something may be added


def key_of(thing: BatchObject) -> ObjectKey:
    """Which object it is."""
    return ObjectKey(type(thing), thing.metadata.name, thing.metadata.namespace)


class RecordStore:
    """Records by uid of the job, books by account."""

    def __init__(self, outbox: Outbox, manifests: PodManifests | None = None) -> None:
        """`manifests`: of pods that we may have to make anew."""
        self._outbox = outbox
        self.manifests = manifests or PodManifests()
        self._keys: dict[str, ObjectKey] = {}  # by uid of the job
        self._uids: dict[ObjectKey, str] = {}
        self._written: dict[str, JobRecord] = {}  # as the server is known to have them
        self._latest: dict[str, JobRecord] = {}  # as they are to be
        self._found: set[str] = set()  # uids of jobs that were written down by somebody before
        self._terms: dict[str, RecordTerms] = {}
        self._unsettled: dict[str, dict[str, None]] = {}  # by account: uids of final records that the server has
        self._books: dict[str, AccountBook] = {}
        self._charged: dict[str, frozenset[str]] = {}  # by account: uids that are settling, as the server has it
        self._version = 0
        self._entries: LedgerEntries | None = None
        self._blank: set[ObjectKey] = set()  # records of which nobody knows yet of which job they are
        self._held: dict[str, RecordBook] = {}  # by uid: settled as soon as the ledger has their lines
        self.tell_ended: Callable[[str], None] = lambda account: None

    def keep_ledger(self, entries: LedgerEntries) -> None:
        """From now on lines go into a ledger."""
        self._entries = entries
        entries.on_entered = self._entered

    # -- what is there -------------------------------------------------------------------------------------------------

    def load(self, accounts: Iterable[AccountObject], records: Iterable[JobRecordObject]) -> list[str]:
        """All that is written down; returns what can not be read, which is left as it is."""
        problems = []
        known = list(accounts)
        for account in known:
            self._learn(account)
        for thing in records:
            key, meta = key_of(thing), thing.metadata
            self._outbox.known[key] = Written(meta.uid, meta.resource_version, dict(thing.status), meta.finalizers)
            try:
                record = read_record(thing)
                terms = read_terms(thing.status)
                self.manifests.hold({} if record is None else manifests_of(thing, record))
            except ValueError as error:
                problems.append(f"{key.title}: {error}")
                continue
            if record is None:
                self._blank.add(key)
            else:
                self._keys[record.uid], self._uids[key] = key, record.uid
                self._latest[record.uid], self._terms[record.uid] = record, terms
                self._found.add(record.uid)
                self._note(record)
                if record.ledger.is_settled:
                    self._outbox.let_go(key)  # whoever settled it was killed before that
        for account in known:
            self._open(account)
        return problems

    def learn_account(self, thing: AccountObject) -> None:
        """An account is there, of which nothing was known."""
        if key_of(thing) not in self._outbox.known:
            self._learn(thing)
            self._open(thing)

    def _learn(self, thing: AccountObject) -> None:
        key, meta = key_of(thing), thing.metadata
        self._outbox.known[key] = Written(meta.uid, meta.resource_version, dict(thing.status))
        book = self._books[key.name] = msgspec.convert(thing.status.get("book", {}), AccountBook)
        self._charged[key.name] = frozenset(book.settling)

    def _open(self, thing: AccountObject) -> None:
        """What it has settled, the ledger need not have lines of; but for what is still on its way there."""
        name = thing.metadata.name
        if self._entries is not None:
            book = self._books[name]
            self._entries.open(Opening(name, thing.metadata.uid, book.settled - self._settling_charge(book)))

    def forget_account(self, name: str) -> None:
        """It was deleted, and its book with it."""
        self._outbox.forget(ObjectKey(AccountObject, name))
        self._books.pop(name, None)
        charged = self._charged.pop(name, ())
        if self._entries is not None:
            self._entries.charged(charged)

    def records(self) -> Iterator[JobRecord]:
        """All that are known."""
        return iter(list(self._latest.values()))

    def terms(self, uid: str) -> RecordTerms:
        """What was said of a job besides its record."""
        return self._terms.get(uid, RecordTerms())

    def uid_of(self, key: ObjectKey) -> str:
        """The job that a record is of; "": none that we know."""
        return self._uids.get(key, "")

    def was_found(self, uid: str) -> bool:
        """Was anything written down of the job when we began?"""
        return uid in self._found

    def latest(self, uid: str) -> JobRecord | None:
        """A job as it is to be written."""
        return self._latest.get(uid)

    def used(self) -> dict[str, float]:
        """By account: what is settled and what runs, in units, as it was written last."""
        return {name: (book.settled + book.running) / 1000 for name, book in self._books.items()}

    def find(self, uid: str) -> ObjectKey | None:
        """The record of a job."""
        return self._keys.get(uid)

    # -- records -------------------------------------------------------------------------------------------------------

    def put(self, job: BatchJob, terms: RecordTerms, head: dict[str, Any], *, is_dated: bool = False) -> None:
        """Write a job down as it is now; `head`: what its record has besides its name, if it has to be made.

        `is_dated`: it is told dates, which are not urgent; `terms` are those of that moment.
        """
        record = job.record()
        if (former := self._terms.get(job.uid)) is not None:
            is_moved = self._latest[job.uid].standing[:2] != record.standing[:2]
            dated = is_dated or record.ledger.dates is None
            terms = terms.after(former, is_moved=is_moved, is_dated=dated, has_begun=record.started is not None)
        key = self._keys.get(job.uid)
        if key is None:
            key = self._new_key(record)
            self._keys[job.uid], self._uids[key] = key, job.uid
        if key not in self._outbox.known:
            self._outbox.heads[key] = head
        held = self._to_make(self._latest.get(job.uid))
        self._latest[job.uid], self._terms[job.uid] = record, terms
        may_wait = key not in self._outbox.known and record.standing.state in EARLY
        delay = CREATE_DELAY if may_wait else 0.0
        manifests = self.manifests.take(self._to_make(record))
        self.manifests.drop({*map(former_uid, held)} - manifests.keys())
        status = partial(record_status, record, terms, manifests)
        self._outbox.put(key, status, record, delay=delay, is_urgent=not is_dated)

    @staticmethod
    def _to_make(record: JobRecord | None) -> tuple[Pod, ...]:
        """Pods that it has manifests of."""
        return () if record is None else (*record.ledger.pods, *record.ledger.leaving)

    def _new_key(self, record: JobRecord) -> ObjectKey:
        """Of the job's name; of a later one of that name with something more."""
        namespace, _, name = record.key.partition("/")
        key = ObjectKey(JobRecordObject, name[:MOST_PLAIN], namespace)
        if key in self._blank:  # whoever made it was killed before it wrote anything
            self._blank.discard(key)
        elif key in self._uids or key in self._outbox.known:
            key = key._replace(name=f"{key.name}-{record.uid[:8]}")
        return key

    def confirmed(self, key: ObjectKey, payload: Any) -> bool:
        """Something is on the server now; says whether it was a record that is done with, and is forgotten."""
        if isinstance(payload, AccountBook):
            self._charged[key.name] = frozenset(payload.settling)
            if self._entries is not None:
                self._entries.charged(payload.settling)
        if not isinstance(payload, JobRecord):
            return False
        self._note(payload)
        if payload.ledger.is_settled:
            self._forget(payload.uid)
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

    def release_blank(self) -> None:
        """Of records in which nothing is written and that no job has taken, nothing is kept."""
        for key in self._blank:
            self._outbox.let_go(key)
        self._blank.clear()

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
        self._held.pop(uid, None)
        if self._entries is not None:
            self._entries.forget(uid)

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
        if record.is_settled and self._entries is not None and self._entries.waits(uid):
            self._held[uid] = record
            return
        ledger = replace(
            latest.ledger, intervals=record.intervals, is_final=record.is_final, is_settled=record.is_settled
        )
        latest = self._latest[uid] = replace(latest, ledger=ledger)
        account = ObjectKey(AccountObject, record.job.account)
        terms = self._terms.get(uid, RecordTerms(record.job.account))
        status = partial(record_status, latest, terms)  # a job that is over: nothing of it is made anew
        self._outbox.put(self._keys[uid], status, latest, after=(account,))

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

    # -- the ledger ----------------------------------------------------------------------------------------------------

    @property
    def num_unsettled(self) -> int:
        """Jobs whose records are final on the server, and not settled."""
        return sum(map(len, self._unsettled.values()))

    def append(self, lines: Sequence[ChargeLine]) -> None:
        """Into the ledger, when the account on the server has their charge; without one, the records have the lines."""
        if self._entries is not None and lines:
            job = lines[0].job
            is_charged = job.account not in self._books or job.uid in self._charged[job.account]
            self._entries.want(lines, is_charged=is_charged)

    def _entered(self, uid: str) -> None:
        """Its lines are there."""
        if (record := self._held.pop(uid, None)) is not None:
            self.write_record(record, "")

    def compare(self, account: str) -> None:
        """Let the ledger see whether its lines come to what the account has settled."""
        book = self._books.get(account)
        if self._entries is not None and book is not None:
            self._entries.check(account, book.settled - self._settling_charge(book), book.settling)

    def _settling_charge(self, book: AccountBook) -> int:
        """What of it may not be in the ledger yet."""
        records = (self._written.get(uid) for uid in book.settling)
        waiting = (each for each in records if each is not None and not each.ledger.is_settled)
        return sum(record_book(each).charge for each in waiting)
