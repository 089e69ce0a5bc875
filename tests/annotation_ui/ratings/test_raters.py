"""People under pseudonyms: secrets, sessions, roles, consent, deletion."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation_ui.ratings import database
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import Assignment, Campaign, CampaignItem, RatingsDB
from annotation_ui.ratings.raters import (
    identity_of,
    invitation_link,
    keep_preference,
    log_in_by_link,
    read_preferences,
    web_address,
)
from annotation_ui.tasks.base import TaskItem
from schemas.core.clock import now
from schemas.core.errors import UserError


@pytest.fixture
def work(db: RatingsDB) -> RatingsDB:
    """A ratings file with a campaign of four items, assigned to ann and bob, who need not be invited for that."""
    db.add_campaign(Campaign("one", "rate_executability", "rate_executability@1", {}, "2026-01-01T00:00:00"))
    items = [TaskItem(id=f"{n:020x}", case=f"c/{n}", shown={"script": "Step 1: Walk"}) for n in range(4)]
    rows = [Assignment(p, i.id, 1, n) for p in ("ann", "bob") for n, i in enumerate(items)]
    db.add_items("one", [CampaignItem(i) for i in items], rows)
    return db


def save(db: RatingsDB, n: int, value: int, *, person: str = "ann") -> int:
    return db.save("one", person, f"{n:020x}", {"executability": value}, form="rate_executability@1")


def test_a_secret_opens_a_session_of_its_person_only(db: RatingsDB) -> None:
    secret = people.invite(db, "ann")
    other = people.invite(db, "lea", role="lead")
    token, lead = people.log_in(db, secret), people.log_in(db, f" {other}\n")
    assert people.authenticate(db, token) == people.RaterAccount("ann", "rater", False)
    assert (people.authenticate(db, lead) or people.get_rater(db, "ann")).role == "lead"
    assert people.log_in(db, "guess") is None
    assert people.authenticate(db, "guess") is None
    assert people.authenticate(db, None) is None
    people.log_out(db, token or "")
    assert people.authenticate(db, token) is None


def test_secrets_and_tokens_stand_nowhere_in_the_file(db: RatingsDB) -> None:
    secret = people.invite(db, "ann")
    token = people.log_in(db, secret) or ""
    db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = db.path.read_bytes()
    assert secret.encode() not in data
    assert token.encode() not in data
    assert b"ann" in data


def test_a_new_secret_ends_the_old_one(db: RatingsDB) -> None:
    old = people.invite(db, "ann")
    token = people.log_in(db, old)
    people.invite(db, "ann")
    assert people.log_in(db, old) is None
    assert people.authenticate(db, token) is None


def test_names_and_roles_are_checked(db: RatingsDB) -> None:
    with pytest.raises(UserError, match="no person 'ann'; allowed: nobody is invited yet"):
        people.get_rater(db, "ann")
    people.invite(db, "ann")
    with pytest.raises(UserError, match="is a rater already"):
        people.invite(db, "ann", role="lead")
    with pytest.raises(UserError, match="no person 'eve'; allowed: ann"):
        people.get_rater(db, "eve")


def test_a_session_ends_after_its_time_and_no_sooner(db: RatingsDB, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = people.invite(db, "ann")
    monkeypatch.setattr(people, "SESSION", timedelta(seconds=-1))
    over = people.log_in(db, secret)
    assert over is not None and people.authenticate(db, over) is None
    monkeypatch.setattr(people, "SESSION", timedelta(hours=12))
    now = people.log_in(db, secret)
    assert people.authenticate(db, now) is not None
    assert db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0] == 1, "the old one is cleared away"


def test_two_browsers_of_one_person_leave_on_their_own(db: RatingsDB) -> None:
    secret = people.invite(db, "ann")
    first, second = people.log_in(db, secret), people.log_in(db, secret)
    assert first != second
    people.log_out(db, first or "")
    assert people.authenticate(db, first) is None
    assert people.authenticate(db, second) is not None


@pytest.mark.parametrize("name", ["", " ", "ann lee", "ann/bob", "ann\n", "a\u2003b"])
def test_names_that_cannot_stand_in_a_verdict_are_refused(db: RatingsDB, name: str) -> None:
    with pytest.raises(UserError, match="cannot be a person's name"):
        people.invite(db, name)
    assert people.list_raters(db) == []


def test_a_program_says_so_in_its_name_and_a_person_does_not(db: RatingsDB) -> None:
    for name, synthetic in (("robot", True), ("synthetic-ann", False)):
        with pytest.raises(UserError, match="begin with 'synthetic-'"):
            people.invite(db, name, synthetic=synthetic)
    people.invite(db, "synthetica")  # begins alike, and is a person all the same
    people.invite(db, "synthetic-ann", synthetic=True)
    assert [(p.name, p.synthetic) for p in people.list_raters(db)] == [("synthetic-ann", True), ("synthetica", False)]


def test_a_new_secret_keeps_consent_and_role(db: RatingsDB) -> None:
    people.invite(db, "lea", role="lead")
    people.consent(db, "lea")
    before = people.get_rater(db, "lea")
    people.invite(db, "lea", role="lead")
    assert people.get_rater(db, "lea") == before


def test_deleting_a_lead_deletes_their_decisions_and_nobody_else_s_answers(work: RatingsDB) -> None:
    people.invite(work, "ann")
    people.invite(work, "lea", role="lead")
    save(work, 0, 3)
    work.adjudicate("one", f"{0:020x}", "lea", {"executability": 4})
    assert people.delete_rater(work, "lea") == 0
    assert work.adjudications("one") == {}
    assert len(work.history("one")) == 1
    with pytest.raises(UserError, match="no person 'lea'; allowed: ann"):
        people.delete_rater(work, "lea")


def test_a_session_that_is_used_lasts_and_one_that_is_not_ends(db: RatingsDB, monkeypatch: pytest.MonkeyPatch) -> None:
    token = people.log_in(db, people.invite(db, "ann"))

    def left() -> str:
        return str(db.connection.execute("SELECT expires_at FROM sessions").fetchone()[0])

    first = left()
    assert people.authenticate(db, token) and left() == first, "not written at every click"
    soon = now("milliseconds", plus=timedelta(minutes=1))
    db.connection.execute("UPDATE sessions SET expires_at = ?", [soon])
    assert people.authenticate(db, token) and left() >= first
    db.connection.execute("UPDATE sessions SET expires_at = ?", [now("milliseconds", plus=timedelta(seconds=-1))])
    assert people.authenticate(db, token) is None


def test_a_session_goes_on_while_nothing_can_be_written(db: RatingsDB, monkeypatch: pytest.MonkeyPatch) -> None:
    token = people.log_in(db, people.invite(db, "ann"))
    db.connection.execute("UPDATE sessions SET expires_at = ?", [now("milliseconds", plus=timedelta(minutes=1))])
    monkeypatch.setattr(database, "BUSY", 0.05)
    with RatingsDB(db.path) as other:
        db.connection.execute("BEGIN IMMEDIATE")
        assert people.authenticate(other, token) is not None
        db.connection.execute("ROLLBACK")


def test_consent_is_to_a_text(work: RatingsDB) -> None:
    people.invite(work, "ann")
    people.consent(work, "ann", "the first")
    at = people.consents(work, "ann")["the first"]
    people.consent(work, "ann", "the first")
    people.consent(work, "ann", "the second")
    assert list(people.consents(work, "ann")) == ["the first", "the second"]
    assert people.consents(work, "ann")["the first"] == at and people.consents(work, "bob") == {}
    people.delete_rater(work, "ann")
    assert people.consents(work, "ann") == {}


def test_deleting_somebody_deletes_drafts_and_names_in_label_studio(work: RatingsDB) -> None:
    people.invite(work, "ann")
    work.connection.execute("INSERT INTO drafts VALUES ('one', 'ann', 'i', '{}', 't'), ('one', 'bob', 'i', '{}', 't')")
    for kind in ("person", "project/one", "config/one"):
        work.link("http://ls", kind, [("ann", "1"), ("bob", "2")])
    for name in ("ann", "bob", "joann"):
        work.link("http://ls", f"task/one/{name}", [("i", "3")])
    people.delete_rater(work, "ann")
    assert [r["person"] for r in work.connection.execute("SELECT person FROM drafts")] == ["bob"]
    links = {(r["kind"], r["local"]) for r in work.connection.execute("SELECT kind, local FROM links")}
    assert links == {("person", "bob"), ("project/one", "bob"), ("config/one", "bob"), ("task/one/bob", "i"),
                     ("task/one/joann", "i")}  # fmt: skip


@pytest.mark.parametrize(
    "url",
    [
        "https://x.org",
        "https://x.org/a?cc=C1#b",
        "HTTPS://x.org:8443/",
        "https://[::1]:8501/",
        "https://bücher.example/",
    ],
)
def test_an_address_is_taken_as_it_is(url: str) -> None:
    parts = web_address(url, "https")
    assert parts is not None and parts.hostname


@pytest.mark.parametrize(
    "url",
    [
        "", "x.org", "http://x.org/", "ftp://x.org", "javascript:alert(1)", "data:text/html,x", "https://", "https:///a",
        "https://[", "https://[::1", "https://x.org:99999/", "https://x.org:a/", "https://x.org:0/", "https://x.org/ a",
        "https://x.org/\n", "https://x.org/\x00", "https://\u202egro.x/", "https://x\u200b.org/", "https://\ud800.org/",
        "https://bank.example@evil.example/", "https://x.org/" + "a" * 2000, " https://x.org/",
    ],
)  # fmt: skip
def test_what_is_no_address_or_another_than_it_seems_is_none(url: str) -> None:
    assert web_address(url, "https") is None


def test_the_latest_choice_of_each_person_is_kept(db: RatingsDB) -> None:
    for name in ("ann", "bob"):
        people.invite(db, name)
    for value in ("de", "en"):
        keep_preference(db, "ann", "language", value)
    keep_preference(db, "bob", "highlight", "no")
    assert (read_preferences(db, "ann"), read_preferences(db, "bob")) == ({"language": "en"}, {"highlight": "no"})
    people.delete_rater(db, "ann")
    assert read_preferences(db, "ann") == {}


def test_a_link_logs_its_owner_in_and_keeps_who_the_service_says_that_is(db: RatingsDB) -> None:
    secret = people.invite(db, "p01")
    fields = {"invitation": secret, "PROLIFIC_PID": "5f1", "STUDY_ID": "s-1", "SESSION_ID": "v1", "other": "<script>"}
    login = log_in_by_link(db, fields)
    person = people.authenticate(db, login.token)
    assert person is not None and person.name == "p01" and not login.refused
    assert identity_of(db, "p01") == {"PROLIFIC_PID": "5f1", "STUDY_ID": "s-1", "SESSION_ID": "v1"}
    assert log_in_by_link(db, {**fields, "SESSION_ID": "v2"}).token, "a later visit of the same person"
    assert identity_of(db, "p01")["SESSION_ID"] == "v2"
    assert log_in_by_link(db, {"invitation": secret}).token, "a reload without the service's parameters"


def test_a_link_stays_with_the_participant_who_opened_it_first(db: RatingsDB) -> None:
    secret = people.invite(db, "p01")
    assert log_in_by_link(db, {"invitation": secret, "PROLIFIC_PID": "5f1"}).token
    sessions = db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    assert log_in_by_link(db, {"invitation": secret, "PROLIFIC_PID": "other"}) == ("", "link_taken")
    assert identity_of(db, "p01") == {"PROLIFIC_PID": "5f1"}
    assert db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0] == sessions


@pytest.mark.parametrize("name", ["PROLIFIC_PID", "workerId"])
def test_one_participant_is_not_two_raters(db: RatingsDB, name: str) -> None:
    first, second = people.invite(db, "p01"), people.invite(db, "p02")
    assert log_in_by_link(db, {"invitation": first, name: "5f1"}).token
    assert log_in_by_link(db, {"invitation": second, name: "5f1"}) == ("", "link_second")
    assert identity_of(db, "p02") == {} and db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0] == 1
    assert log_in_by_link(db, {"invitation": second, name: "5F1"}).token, "ids are compared as they are written"
    study = {"invitation": people.invite(db, "p03"), "STUDY_ID": "s", "SESSION_ID": "v"}
    assert log_in_by_link(db, study).token and log_in_by_link(db, study | {"invitation": first}).token
    people.delete_rater(db, "p01")
    assert log_in_by_link(db, {"invitation": people.invite(db, "p04"), name: "5f1"}).token, "of a forgotten rater"


@pytest.mark.parametrize(
    "value",
    [
        "{{%PROLIFIC_PID%}}",
        "5f1&admin=1",
        "5f1\u200b",
        "５ｆ１",
        "٥",
        "-" * 65,
        "a/b",
        "a\\b",
        "a b",
        "<b>",
        "\ud800",
        "é",
        "a\n",
        "'; DROP TABLE people",
        "%00",
    ],
)
@pytest.mark.parametrize("name", ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId"])
def test_every_parameter_is_read_as_narrowly(db: RatingsDB, name: str, value: str) -> None:
    secret = people.invite(db, "p01")
    assert log_in_by_link(db, {"invitation": secret, name: value}) == ("", "link_identity")
    assert identity_of(db, "p01") == {} and log_in_by_link(db, {"invitation": secret}).token


@pytest.mark.parametrize("secret", ["", "x", "x" * 10**6, "' OR 1=1 --", "\ud800", "\x00"])
def test_a_wrong_secret_logs_nobody_in(db: RatingsDB, secret: str) -> None:
    people.invite(db, "p01")
    assert log_in_by_link(db, {"invitation": secret, "PROLIFIC_PID": "5f1"}) == ("", "link_refused")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/", "rate.example.org", "https://", "https://x/?a=1", "https://x/#a", "javascript:1", "https://[",
        "https://x/?", "https://x y/", "https://bank.example@evil.example/", "https://\u202egro.x/", "https://x\n/",
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="no address of the rating app") as caught:
        invitation_link(url, "s")
    assert str(caught.value).isprintable()
