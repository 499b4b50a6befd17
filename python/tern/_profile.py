"""Times of nodes."""

from __future__ import annotations

from typing import Any

from tern._tern import NodeTime, Session


class Profile:
    """Times of the nodes of a session's calls, the slowest first. A block of `with session.profile() as p` times them."""

    def __init__(self, session: Session):
        self._session = session
        self.nodes: list[NodeTime] = []

    def __enter__(self) -> Profile:
        self._session._set_profiling(True)
        return self

    def __exit__(self, *_: Any) -> None:
        self.nodes = self._session._times()
        self._session._set_profiling(False)

    @property
    def seconds(self) -> float:
        """Of all nodes and runs; the time of a node with bodies includes theirs."""
        return sum(n.seconds for n in self.nodes)

    def _rows(self):
        total = self.seconds or 1
        for n in self.nodes:
            runs = max(n.runs, 1)
            yield n.op, n.module, n.origin, n.seconds / runs * 1e6, 100 * n.seconds / total, n.runs

    def __repr__(self) -> str:
        lines = [f"{'op':16} {'us':>10} {'share':>7}  {'runs':>5}  module"]
        lines += [f"{op:16} {us:10.1f} {share:6.1f}%  {runs:5}  {module or origin}" for op, module, origin, us, share, runs in self._rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(op)}</td><td>{escape(module or origin)}</td><td>{us:.1f}</td><td>{share:.1f} %</td></tr>"
            for op, module, origin, us, share, _ in self._rows()
        )
        return f"<table><tr><th>op</th><th>module</th><th>µs</th><th>share</th></tr>{rows}</table>"


def profile_session(session):
    return Profile(session)


def profile_model(model, *args, runs=10, function=None, **kwargs):
    session = model.session()
    call = session if function is None else session[function]
    call(*args, **kwargs)  # plans
    with Profile(session) as profile:
        for _ in range(runs):
            call(*args, **kwargs)
    return profile
