"""Links: whom they log in, whose they stay, and what of an address is read."""

from __future__ import annotations

import pytest

from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.raters import identity_of, invitation_link, log_in_by_link
from schemas.core.errors import UserError


def test_a_link_logs_its_owner_in_and_keeps_who_the_service_says_that_is(db: RatingsDB) -> None:
    secret = raters.invite(db, "p01")
    fields = {"invitation": secret, "PROLIFIC_PID": "5f1", "STUDY_ID": "s-1", "SESSION_ID": "v1", "other": "<script>"}
    login = log_in_by_link(db, fields)
    person = raters.authenticate(db, login.token)
    assert person is not None and person.name == "p01" and not login.refused
    assert identity_of(db, "p01") == {"PROLIFIC_PID": "5f1", "STUDY_ID": "s-1", "SESSION_ID": "v1"}
    assert log_in_by_link(db, {**fields, "SESSION_ID": "v2"}).token, "a later visit of the same person"
    assert identity_of(db, "p01")["SESSION_ID"] == "v2"
    assert log_in_by_link(db, {"invitation": secret}).token, "a reload without the service's parameters"


def test_a_link_stays_with_the_participant_who_opened_it_first(db: RatingsDB) -> None:
    secret = raters.invite(db, "p01")
    assert log_in_by_link(db, {"invitation": secret, "PROLIFIC_PID": "5f1"}).token
    sessions = db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    assert log_in_by_link(db, {"invitation": secret, "PROLIFIC_PID": "other"}) == ("", "link_taken")
    assert identity_of(db, "p01") == {"PROLIFIC_PID": "5f1"}
    assert db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0] == sessions


@pytest.mark.parametrize("name", ["PROLIFIC_PID", "workerId"])
def test_one_participant_is_not_two_raters(db: RatingsDB, name: str) -> None:
    first, second = raters.invite(db, "p01"), raters.invite(db, "p02")
    assert log_in_by_link(db, {"invitation": first, name: "5f1"}).token
    assert log_in_by_link(db, {"invitation": second, name: "5f1"}) == ("", "link_second")
    assert identity_of(db, "p02") == {} and db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0] == 1
    assert log_in_by_link(db, {"invitation": second, name: "5F1"}).token, "ids are compared as they are written"
    study = {"invitation": raters.invite(db, "p03"), "STUDY_ID": "s", "SESSION_ID": "v"}
    assert log_in_by_link(db, study).token and log_in_by_link(db, study | {"invitation": first}).token
    raters.delete_rater(db, "p01")
    assert log_in_by_link(db, {"invitation": raters.invite(db, "p04"), name: "5f1"}).token, "of a forgotten rater"


@pytest.mark.parametrize(
    "value", ["{{%PROLIFIC_PID%}}", "5f1&admin=1", "5f1\u200b", "５ｆ１", "٥", "-" * 65, "a/b", "a\\b"]
)
@pytest.mark.parametrize("name", ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId"])
def test_every_parameter_is_read_as_narrowly(db: RatingsDB, name: str, value: str) -> None:
    secret = raters.invite(db, "p01")
    assert log_in_by_link(db, {"invitation": secret, name: value}) == ("", "link_identity")
    assert identity_of(db, "p01") == {} and log_in_by_link(db, {"invitation": secret}).token


@pytest.mark.parametrize("value", ["a b", "x" * 65, "<b>", "\ud800", "é", "a\n", "'; DROP TABLE people", "%00"])
def test_an_identity_that_no_service_sends_is_refused_and_not_kept(db: RatingsDB, value: str) -> None:
    secret = raters.invite(db, "p01")
    assert log_in_by_link(db, {"invitation": secret, "PROLIFIC_PID": value}) == ("", "link_identity")
    assert identity_of(db, "p01") == {}


@pytest.mark.parametrize("secret", ["", "x", "x" * 10**6, "' OR 1=1 --", "\ud800", "\x00"])
def test_a_wrong_secret_logs_nobody_in(db: RatingsDB, secret: str) -> None:
    raters.invite(db, "p01")
    assert log_in_by_link(db, {"invitation": secret, "PROLIFIC_PID": "5f1"}) == ("", "link_refused")


def test_forgetting_a_person_forgets_the_identity(db: RatingsDB) -> None:
    log_in_by_link(db, {"invitation": raters.invite(db, "p01"), "workerId": "A1"})
    raters.delete_rater(db, "p01")
    assert db.connection.execute("SELECT count(*) FROM preferences").fetchone()[0] == 0


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
