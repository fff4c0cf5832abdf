"""What programs can do about what the package says: loggers of their own, levels, filters of Python's `warnings`."""

import itertools
import warnings

import pytest
import warp as wp

_number = itertools.count()


class Heard:
    def __init__(self):
        self.said = []

    def debug(self, message):
        self.said.append(("debug", message))

    def info(self, message):
        self.said.append(("info", message))

    def warning(self, message, category=None, stacklevel=1):
        self.said.append(("warning", message))

    def error(self, message):
        self.said.append(("error", message))


@wp.kernel
def nothing(a: wp.array(dtype=float)):
    a[wp.tid()] = 1.0


def text():
    """A message that was not said before."""
    return f"something is odd, number {next(_number)}"


def test_a_scope_knows_its_logger():
    mine, before = Heard(), wp.get_logger()
    with wp.ScopedLogger(mine) as scope:
        assert scope.logger is mine is wp.get_logger()
    assert wp.get_logger() is before
    with wp.ScopedLogger(None) as scope:
        assert scope.logger is None and wp.get_logger() is not before
    assert wp.get_logger() is before


@pytest.mark.parametrize("level", [wp.LOG_DEBUG, wp.LOG_WARNING, wp.LOG_ERROR + 10])
def test_launches_are_told_to_the_logger(monkeypatch, capsys, level):
    monkeypatch.setattr(wp.config, "print_launches", True)
    monkeypatch.setattr(wp.config, "log_level", level)
    with wp.ScopedLogger(Heard()) as scope:
        wp.launch(nothing, 2, [wp.zeros(2)])
    assert [kind for kind, _ in scope.logger.said] == ["info"]
    assert "nothing" in scope.logger.said[0][1] and "nothing" not in capsys.readouterr().out


def test_filters_ignore_warnings(capsys):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        wp.utils.warn(text())
        wp.utils.warn(text(), RuntimeWarning)
    kept = capsys.readouterr().err
    assert "RuntimeWarning" in kept and "UserWarning" not in kept
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*odd", module=__name__)
        wp.utils.warn(text())
        warnings.filterwarnings("always", message=".*odd")  # the newest one that fits decides
        wp.utils.warn(text())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="elsewhere")
        wp.utils.warn(text())
    assert capsys.readouterr().err.count("odd") == 2


def test_a_logger_can_hand_warnings_to_python():
    class Handing(Heard):
        def warning(self, message, category=None, stacklevel=1):
            warnings.warn(message, category, stacklevel=stacklevel)

    with wp.ScopedLogger(Handing()), pytest.warns(UserWarning, match="odd") as caught:
        wp.utils.warn(text())
    assert caught[0].filename == __file__


def test_places_of_warnings(monkeypatch, capsys):
    monkeypatch.setattr(wp.config, "verbose_warnings", True)
    wp.utils.warn(text())
    assert __file__ in capsys.readouterr().err
