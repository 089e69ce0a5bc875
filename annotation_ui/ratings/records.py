"""What a ratings file holds: its tables, and its rows as records."""

from __future__ import annotations

from typing import Any, NamedTuple

from annotation_ui.tasks.base import TaskItem

SCHEMA = """
CREATE TABLE campaigns (name TEXT PRIMARY KEY, task TEXT NOT NULL, form TEXT NOT NULL, settings TEXT NOT NULL,
    made_at TEXT NOT NULL);
CREATE TABLE people (name TEXT PRIMARY KEY, role TEXT NOT NULL, secret TEXT NOT NULL, synthetic INTEGER NOT NULL,
    consented_at TEXT, made_at TEXT NOT NULL);
CREATE TABLE sessions (token TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people(name) ON DELETE CASCADE,
    expires_at TEXT NOT NULL);
CREATE TABLE items (campaign TEXT NOT NULL REFERENCES campaigns(name), id TEXT NOT NULL, body TEXT NOT NULL,
    purpose TEXT NOT NULL, expected TEXT, probability REAL, PRIMARY KEY (campaign, id));
CREATE TABLE assignments (campaign TEXT NOT NULL, person TEXT NOT NULL, item TEXT NOT NULL, batch INTEGER NOT NULL,
    position INTEGER NOT NULL, PRIMARY KEY (campaign, person, item),
    FOREIGN KEY (campaign, item) REFERENCES items(campaign, id));
CREATE TABLE revisions (id INTEGER PRIMARY KEY AUTOINCREMENT, campaign TEXT NOT NULL, person TEXT NOT NULL,
    item TEXT NOT NULL, form TEXT NOT NULL, answers TEXT, seconds REAL, saved_at TEXT NOT NULL, token TEXT UNIQUE,
    received_at TEXT);
CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, campaign TEXT NOT NULL, item TEXT NOT NULL,
    lead TEXT NOT NULL, answers TEXT NOT NULL, saved_at TEXT NOT NULL);
CREATE TABLE links (site TEXT NOT NULL, kind TEXT NOT NULL, local TEXT NOT NULL, remote TEXT NOT NULL,
    PRIMARY KEY (site, kind, local));
CREATE TABLE drafts (campaign TEXT NOT NULL, person TEXT NOT NULL, item TEXT NOT NULL, answers TEXT NOT NULL,
    saved_at TEXT NOT NULL, PRIMARY KEY (campaign, person, item));
CREATE TABLE consents (person TEXT NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL, agreed_at TEXT NOT NULL,
    PRIMARY KEY (person, digest));
CREATE TABLE skips (campaign TEXT NOT NULL, person TEXT NOT NULL, item TEXT NOT NULL, reason TEXT NOT NULL,
    seconds REAL, saved_at TEXT NOT NULL, PRIMARY KEY (campaign, person, item));
CREATE TABLE preferences (person TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (person, name));
CREATE INDEX revisions_by_item ON revisions (campaign, person, item, id);
"""
VERSION = 5
"""Of the tables; a file of another version is refused."""


class Revision(NamedTuple):
    """One save.

    Attributes:
        answers: None withdraws the earlier ones (undo); empty where what is stored is no set of answers.
        seconds: The time the person took; None where it is unknown or cannot be one (text, zero, negative, endless).
        saved_at: When the person saved.
        token: The name of this very save, None where it has none.
        odd_time: A time is stored that cannot be one; ``seconds`` is None then.
    """

    id: int
    campaign: str
    person: str
    item: str
    form: str
    answers: dict[str, Any] | None
    seconds: float | None
    saved_at: str
    token: str | None = None
    odd_time: bool = False


class Campaign(NamedTuple):
    """A round of work: a task, the form it began with, and its settings as they were given."""

    name: str
    task: str
    form: str
    settings: dict[str, Any]
    made_at: str


class CampaignItem(NamedTuple):
    """An item in a campaign.

    Attributes:
        item: What is judged.
        purpose: ``real``, ``training`` (the right answer is told afterwards) or ``attention`` (it never is).
        expected: The right answers of training and attention items.
        probability: With which a real item came into the campaign; None where nothing was sampled.
    """

    item: TaskItem
    purpose: str = "real"
    expected: dict[str, Any] | None = None
    probability: float | None = None


class Assignment(NamedTuple):
    """That a person is to judge an item, in a batch, at a position of their own order."""

    person: str
    item: str
    batch: int
    position: int


class Adjudication(NamedTuple):
    """What a lead decided about an item, beside what people said."""

    item: str
    lead: str
    answers: dict[str, Any]
    saved_at: str
