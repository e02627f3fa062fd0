/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a GPU's own kernels ask of their arguments before they run: sizes and types that fit. Meta
 * kernels of PyTorch 1.13 leave it to the kernels, and the rules (rules.cc) are for arguments that
 * fit, so that without these checks a script's mistake would pass.
 */
#ifndef CAPTURE_CHECKS_H
#define CAPTURE_CHECKS_H

#include "operators.h"

namespace capture
{

/// Throws what PyTorch throws. Before an operator's rule, values or Meta kernel.
void CheckArguments(const c10::OperatorHandle& operation, Arguments arguments);

} // namespace capture

#endif // CAPTURE_CHECKS_H
