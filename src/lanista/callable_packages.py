"""Lets `lanista.train`, `lanista.evaluate` and `lanista.exploit` be package and function in one.

Each of these words is a folder of modules and what a script wants to call. The import system puts
a package into its parent's namespace as soon as anything in it is imported, so a function of the
same name would vanish there; instead the package itself can be called. Knows no function's content.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar


class CallablePackage(ModuleType):
    """A package that does, when called, what the function of its name does."""

    function_at: ClassVar[Mapping[str, str]] = {}
    """The module that has the function, by the package's name."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.function(*arguments, **keywords)

    @property
    def function(self) -> Callable[..., Any]:
        """What a call does."""
        module = importlib.import_module(self.function_at[self.__name__])
        found: Callable[..., Any] = getattr(module, self.__name__.rpartition(".")[2])
        return found

    @property
    def __signature__(self) -> inspect.Signature:
        """Shown by editors and notebooks beside the name."""
        return inspect.signature(self.function)


class ParentPackage(ModuleType):
    """The parent of such packages: makes each callable when the import system adds it."""

    def __setattr__(self, name: str, value: object) -> None:
        package = f"{self.__name__}.{name}"
        if package in CallablePackage.function_at and isinstance(value, ModuleType):
            value.__class__ = CallablePackage
        super().__setattr__(name, value)


def install(parent: ModuleType, function_at: Mapping[str, str]) -> None:
    """Make the packages in `parent` callable that `function_at` names, now and when imported."""
    CallablePackage.function_at = {
        f"{parent.__name__}.{name}": module for name, module in function_at.items()
    }
    parent.__class__ = ParentPackage
