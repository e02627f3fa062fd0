/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All operators of a simulated GPU come to one boxed kernel, which finds shapes and records:
 *
 *   1. a rule, if the operator has one (rules.cc);
 *   2. on small tensors whose values are known, the CPU's kernel: real results;
 *   3. the Meta kernel: shapes, strides and aliases without values;
 *   4. without a Meta kernel: in place, the same tensor; "..._backward", the shape of its input;
 *      else once on zeros of the CPU, if the tensors are small enough.
 *
 * An operator for which nothing of this does is an error that names it.
 *
 * Choices of which one (topk, argmax, sort, multinomial) among values that are not known are
 * assumed to be spread evenly, so that what scripts make of them has a shape: experts get as many
 * tokens each. What is computed of them is `assumed` (storage.h), and where the program reads it or
 * a shape depends on it, that is said.
 */
#ifndef CAPTURE_OPERATORS_H
#define CAPTURE_OPERATORS_H

#include <ATen/core/dispatch/Dispatcher.h>
#include <string>
#include <torch/library.h>

namespace capture
{

using Stack = torch::jit::Stack;
using Arguments = c10::ArrayRef<c10::IValue>;

/// Results of an operator from its arguments.
using Rule = void (*)(const c10::OperatorHandle& operation, Arguments arguments, Stack& results);

/// nullptr: none. `name` with the overload, or without it for a rule of all overloads.
const Rule* FindRule(const c10::OperatorName& name);
/// As if it had no rule: for one that only changes its arguments.
void RunWithoutRule(const char* name, const char* overload, const Stack& arguments, Stack& results);

/// f(tensor) for each tensor of a value.
template <class F>
void
ForEachTensor(const c10::IValue& value, F f)
{
    if (value.isTensor())
    {
        f(value.toTensor());
    }
    else if (value.isList())
    {
        for (const c10::IValue& item : value.toListRef())
        {
            if (item.isTensor())
            {
                f(item.toTensor());
            }
        }
    }
}

} // namespace capture

#endif // CAPTURE_OPERATORS_H
