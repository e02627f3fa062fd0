# SPDX-License-Identifier: GPL-2.0-only
"""torch.distributions asks whether parameters and samples are valid. What is not known is."""

import functools

EXPECTED = ["Expected", "parameter"]


def apply(torch, device):
    kind = torch.distributions.Distribution

    def is_unknown(value):
        return isinstance(value, torch.Tensor) and value.is_cuda and not device.is_known(value)

    def checked(make):
        @functools.wraps(make)
        def init(self, *arguments, **options):
            try:
                make(self, *arguments, **options)  # whose kernels a GPU has, too
            except ValueError as error:
                # "Expected parameter scale (...": what is known is checked.
                words = str(error).split()
                if words[:2] != EXPECTED or not is_unknown(getattr(self, words[2], None)):
                    raise
                if len(arguments) < 3:
                    options["validate_args"] = False
                make(self, *arguments[:2], *(False for _ in arguments[2:]), **options)
                self._validate_args = False
            if any(is_unknown(value) for value in self.__dict__.values()):
                self._validate_args = False  # subclasses go on with checks of their own

        return init

    def sampled(check):
        @functools.wraps(check)
        def validate(self, value):
            try:
                check(self, value)
            except ValueError:
                if not is_unknown(value):
                    raise

        return validate

    kind.__init__ = checked(kind.__init__)
    kind._validate_sample = sampled(kind._validate_sample)
