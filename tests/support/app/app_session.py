"""A rater's session without a browser: the messages that Streamlit's page exchanges with the served app."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from annotation_ui.app.page_context import cookie_name
from tests.support.app.served_app import App

PATIENCE = 120.0  # seconds that an answer of the server is waited for


@contextmanager
def _one_error() -> Iterator[None]:
    """Whatever breaks a connection, as one kind of error."""
    from websockets.exceptions import WebSocketException

    try:
        yield
    except (WebSocketException, TimeoutError) as error:
        raise ConnectionError(str(error)) from None


class AppSession:
    """One person at the app: what is shown, and answers that are sent as the page sends them.

    Attributes:
        done: Items that the page says are done.
        radios: Ids of the questions, in order. ``save``: id of the button that saves; empty where no form is shown.
    """

    def __init__(self, app: App, token: str) -> None:
        self.app, self.token = app, token
        self.done, self.save = -1, ""
        self.radios: list[str] = []

    def __enter__(self) -> AppSession:
        """Connect and read the page: what a reload does."""
        from websockets.sync.client import connect

        with ExitStack() as stack:
            with _one_error():
                self._socket = stack.enter_context(connect(
                    self.app.url.replace("http", "ws") + "_stcore/stream",
                    subprotocols=["streamlit"],  # type: ignore[list-item]
                    additional_headers={"Cookie": f"{cookie_name(self.app.ratings)}={self.token}"},
                    proxy=None, max_size=None, open_timeout=PATIENCE, close_timeout=1,
                ))  # fmt: skip
            self._run({}, "")
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def answer(self, values: list[int]) -> None:
        """Fill in the form with the values (points of the scale) and save; returns once the next page is whole.

        Raises:
            ConnectionError: it broke; whether the answer was saved is not known.
        """
        radios = dict(zip(self.radios, values, strict=True))
        self._run(radios, self.save)

    def _run(self, radios: dict[str, int], pressed: str) -> None:
        from streamlit.proto.BackMsg_pb2 import BackMsg

        message = BackMsg()
        message.rerun_script.query_string = ""  # so that it is a message, though nothing is filled in
        states = message.rerun_script.widget_states.widgets
        for name, value in radios.items():
            states.add(id=name, string_value=str(value))
        if pressed:
            states.add(id=pressed, trigger_value=True)
        with _one_error():
            self._socket.send(message.SerializeToString())
            self._read_page()

    def _read_page(self) -> None:
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        self.radios, self.save, position = [], "", -1
        while True:
            message = ForwardMsg()
            message.ParseFromString(self._socket.recv(timeout=PATIENCE))
            kind = message.WhichOneof("type")
            if kind == "delta":
                position = max(position, self._look_at(message.delta.new_element))
            elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.done = position
                return

    def _look_at(self, element: Any) -> int:
        kind = element.WhichOneof("type")
        if kind == "radio":
            self.radios.append(element.radio.id)
        elif kind == "button" and element.button.is_form_submitter:
            self.save = element.button.id
        elif kind == "progress":
            match = re.match(r"(\d+) of \d+ done", element.progress.text)
            return int(match[1]) if match else -1
        return -1
