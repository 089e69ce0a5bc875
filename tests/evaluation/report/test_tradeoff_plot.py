from __future__ import annotations

import pytest

from evaluation.analysis.comparison import compare, score_run
from evaluation.report.tradeoff_plot import HEIGHT, WIDTH, PlotPoint, _meet, _place_labels, _x_of, _y_of, tradeoff_plot
from evaluation.report.write import write_report
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from tests.support.arithmetic import make_cases
from tests.support.report.read_report import METRICS, finished


def test_plane_keeps_inside_and_labels_do_not_collide(tmp_path):
    editors = [{"name": "push", "label": f"method {n}", "params": {"strength": float(n)}} for n in range(6)]
    finished(tmp_path, editors=editors, split=make_cases(20, 0))
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    table = compare(run, score_run(run, metrics, "mean"), metrics)[0]
    picture = tradeoff_plot(table, metrics)
    assert len(picture.points) == 7
    for point in picture.points:
        assert 0 < point.x < WIDTH and 0 < point.y < HEIGHT
        assert point.bar_x is None or picture.left <= point.bar_x[0] <= point.bar_x[1] <= picture.right
    places = {(p.text_x, p.text_y) for p in picture.points}
    assert len(places) == 7


@pytest.mark.parametrize("corner", [(0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (0.5, 0.5)])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_labels_of_points_in_one_place_do_not_lie_on_each_other(corner: tuple[float, float], count: int) -> None:
    x, y = _x_of(corner[0]), _y_of(corner[1])
    points = [PlotPoint(f"method {n}", x, y, None, None, "circle", n, 0.0, 0.0, "start", "") for n in range(count)]
    boxes = []
    for p in _place_labels(points):
        wide = 8.0 * len(p.label)
        left = p.text_x if p.anchor == "start" else p.text_x - wide
        boxes.append((left, p.text_y - 12, left + wide, p.text_y + 3))
        assert left > 0 and left + wide < WIDTH and p.text_y - 12 > 0 and p.text_y + 3 < HEIGHT
    assert not any(_meet(a, b) for n, a in enumerate(boxes) for b in boxes[:n])


def test_no_plane_without_both_axes(tmp_path):
    finished(tmp_path, split=make_cases(0, 3))
    run, metrics = load_run(tmp_path), load_metrics(METRICS)
    assert tradeoff_plot(compare(run, score_run(run, metrics, "mean"), metrics)[0], metrics) is None
    assert "Efficacy and locality</h2>" not in write_report([tmp_path]).files[0].read_text()
