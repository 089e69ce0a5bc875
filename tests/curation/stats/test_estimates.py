"""A value with its interval, or why there is none."""

from curation.stats.estimates import Estimate, undefined


def test_text_of_estimates():
    assert (
        Estimate("x", 0.5, note="a single case has no spread").text()
        == "0.500 [no interval: a single case has no spread]"
    )
    assert undefined("x", "there is no rating").text() == "undefined, because there is no rating"
