/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a program prints, and where: standard output, errors, notes, a line of progress.
 */
#ifndef DLTRAIN_CONSOLE_H
#define DLTRAIN_CONSOLE_H

#include "scenarios/job/scenario.h"
#include "topologies/error.h"

#include <string>
#include <vector>

namespace dltrain
{

/// Once, before anything is printed: RunProgram (programs/frame.h), which says what it is for.
void OpenConsole(const std::string& program);
/// Once, after all is printed. \param onlyText there are no results: help, a list, a plan
/// \return the status, not 0 if standard output could not be written, which is said
int CloseConsole(int status, bool onlyText);
/// \return what ns-3 said on its way to std::terminate, which was kept back; empty: nothing
std::string TakeFatal();
/// That of OpenConsole.
const std::string& ProgramName();

/// An error of the user's input that only came out while building: to standard error, status 2; or
/// of a file that cannot be written (OutputErrors have one): 1. With `run`, the folder that was
/// made for its results is taken back.
int SayError(const std::string& program,
             const std::string& error,
             const scenario::RunOptions* run = nullptr);

/// Errors of the user's input, behind the program's name. \return status 2; 0 if there are none
int SayErrors(const std::vector<topo::Error>& errors);
/// No option is to blame: results cannot be written. \return status 1
int SayFailure(const std::string& why);

/// To standard error, behind the program's name. \param note "warning: ...", "note: ..."
void SayNote(const std::string& note);

/// A line of progress that stays, behind the program's name.
void SayProgress(const std::string& line);
/// A line on standard error: on a terminal until the next one, or anything else, is printed.
void ShowProgress(const std::string& line);
/// A line of progress that a terminal shows goes.
void ClearProgress();

} // namespace dltrain

#endif /* DLTRAIN_CONSOLE_H */
