"""The population that a campaign's items were drawn from: every item's probability, drawn or not."""

from __future__ import annotations

from collections.abc import Mapping

from annotation_ui.ratings.database import RatingsDB


def read_frame(db: RatingsDB, campaign: str) -> dict[str, float]:
    """Inclusion probabilities by item; empty for a campaign of an earlier version, which kept none."""
    rows = db.connection.execute("SELECT item, probability FROM frames WHERE campaign = ?", [campaign]).fetchall()
    return {r["item"]: r["probability"] for r in rows}


def keep_frame(db: RatingsDB, campaign: str, chances: Mapping[str, float]) -> bool:
    """Keep everybody's probability, for the items that are drawn too; returns whether one that was drawn changed."""
    with db.write_transaction() as file:
        file.executemany(
            "INSERT OR REPLACE INTO frames VALUES (?, ?, ?)", [(campaign, i, p) for i, p in chances.items()]
        )
        changed = file.executemany(
            "UPDATE items SET probability = ?1 WHERE campaign = ?2 AND id = ?3 AND purpose = 'real' "
            "AND abs(coalesce(probability, -1) - ?1) > 1e-12",
            [(p, campaign, i) for i, p in chances.items()],
        )
        return bool(changed.rowcount > 0)
