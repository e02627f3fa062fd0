/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * SIGINT, SIGTERM and SIGHUP (unless it is ignored, as nohup does) of programs that end with what
 * they have found. One that simulates packets has its own (run-control.cc).
 */
#ifndef CONTRIB_DLTRAIN_PROGRAMS_INTERRUPTION_H
#define CONTRIB_DLTRAIN_PROGRAMS_INTERRUPTION_H

namespace dltrain
{

/// From now on the first signal is remembered; a second one ends the program.
void WatchInterruption();

/// The signal's number; 0: there was none.
int Interruption();

} // namespace dltrain

#endif // CONTRIB_DLTRAIN_PROGRAMS_INTERRUPTION_H
