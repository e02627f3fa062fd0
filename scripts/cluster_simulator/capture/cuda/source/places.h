/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where in the program a call stands.
 */
#ifndef CUDA_PLACES_H
#define CUDA_PLACES_H

#include <string>

namespace gpus
{

/// Whether code is of these libraries.
bool IsOfOurs(const void* address);

/// Whether code is of a library of MPI, or of what those stand on.
bool IsOfMpi(const void* address);

/// "MODULE|OFFSET|SYMBOL" of the innermost call that is not in these libraries; the offset, in
/// hexadecimal, is that of the call. Without white space: that is %20 and so on.
const std::string& Place();

/// The same of the innermost calls, with ';' between them: those of a launch are the compiler's.
std::string Places();

/// Text as one word: white space, '%', '|' and ',' as %XX.
std::string Word(const std::string& text);

} // namespace gpus

#endif // CUDA_PLACES_H
