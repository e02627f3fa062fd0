/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs of dltrain in processes of their own, for programs that need their results.
 */
#ifndef DLTRAIN_CHILD_RUN_H
#define DLTRAIN_CHILD_RUN_H

#include <nlohmann/json.hpp>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dltrain
{

/// dltrain beside this program.
std::string ChildProgram();

/// Writes a file that a run reads. \return "FILE: cannot be written: No space left on device", of
/// which OutputErrors know; empty: it is written
std::string WriteForChild(const std::string& path, const std::string& text);

/// \param words the program and its arguments \param log file of what it prints
/// \return the process; -1: it could not be started
pid_t StartChild(const std::vector<std::string>& words, const std::string& log);

/// stats.json of a run; discarded: there is none.
nlohmann::json ChildStats(const std::string& folder);

/// The last line that the run printed, for a note.
std::string LastLine(const std::string& log);

} // namespace dltrain

#endif // DLTRAIN_CHILD_RUN_H
