"""scikit-learn's callback protocol (1.9 and newer): a fit is a task, each generation a subtask.

It is imported only when callbacks are set, because importing it takes a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from symgrove.evolution.stopping import Progress

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator


def set_callbacks(estimator: Estimator, given: tuple[Any, ...]) -> None:
    """Give an estimator scikit-learn's callbacks."""
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError:
        raise ImportError("set_callbacks needs scikit-learn 1.9 or newer; use the parameter callbacks=") from None
    CallbackSupportMixin.set_callbacks(estimator, *given)


def has_callbacks(estimator: Estimator) -> bool:
    """Whether the estimator, or a meta-estimator around it, has scikit-learn callbacks."""
    return hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")


def with_teardown(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A fit of an estimator, after which callbacks are torn down whatever happens."""
    from sklearn.callback import with_callbacks

    wrapped: Callable[..., Any] = with_callbacks(fit)
    return wrapped


@contextmanager
def tell_callbacks(
    estimator: Estimator, X: Any, y: Any, fitted_attributes: Callable[[Any], dict[str, Any]]
) -> Iterator[Callable[[Progress], bool]]:
    """Observer that tells the callbacks of each generation as a task.

    `fitted_attributes` makes, from a state, what an estimator needs to predict; only if a callback asks for that.
    """
    from sklearn.callback import CallbackSupportMixin

    root = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator)
    has_started = False

    def observe(progress: Progress) -> bool:
        nonlocal has_started
        if not has_started:  # the state that the run starts from is no task
            has_started = True
            return False
        task = root.subcontext(task_name="generation")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        attributes = partial(fitted_attributes, progress.state)
        return bool(task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes))

    yield observe
    root.call_on_fit_task_end(estimator=estimator)
