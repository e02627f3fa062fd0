/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ctrl-C while options are read and the network is made, before there is a simulation whose files
 * could be completed.
 */
#ifndef SCENARIOS_LAUNCH_EARLY_END_H
#define SCENARIOS_LAUNCH_EARLY_END_H

#include <string>
#include <vector>

namespace scenario
{

/// "traffic: interrupted before the simulation began; nothing was written"
std::string EarlyEndText(const std::string& program);

/// From now on, until somebody else catches them, SIGINT, SIGTERM and SIGHUP (those that are not
/// ignored) end the process with status 128 + signal, after that text; of several processes the
/// first says it.
void CatchEarlyEnd(const std::string& program);

/// Sets a text that such an end prints instead: something was written already.
void TellAtEarlyEnd(const std::string& text);

/// Names folders that were made for the results, the outermost first. Such an end removes them if
/// they are empty.
void DropAtEarlyEnd(const std::vector<std::string>& made);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_EARLY_END_H
