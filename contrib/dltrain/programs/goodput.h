/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_GOODPUT_H
#define DLTRAIN_GOODPUT_H

namespace dltrain
{

/// dlgoodput: useful days of a training job that fails. \return exit status
int RunGoodput(int argc, const char* const* argv);

} // namespace dltrain

#endif // DLTRAIN_GOODPUT_H
