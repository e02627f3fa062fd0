/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * SIGINT (Ctrl-C), SIGTERM and SIGHUP, of all programs: one handler, which does what the phase of
 * the program asks for.
 *
 * | phase, from | first signal | second signal |
 * |---|---|---|
 * | CatchEarlyEnd | ends the process: nothing is there to complete | |
 * | KeepInterruption | is kept: the program ends with what it has | ends the process, or nothing |
 * | KeepInterruptionOfRun | is kept; the set-up is completed first | ends the process |
 * | EventsBegin | is kept; the run ends between two events | "results are being written" |
 *
 * A signal that was ignored when the program began stays so: in CatchEarlyEnd each of the three, in
 * the others SIGHUP (nohup). mpirun.cc, whose parent process also passes on SIGTSTP, has its own.
 */
#ifndef SCENARIOS_LAUNCH_INTERRUPTION_H
#define SCENARIOS_LAUNCH_INTERRUPTION_H

#include <string>
#include <vector>

namespace scenario
{

/// "traffic: interrupted before the simulation began; nothing was written"
std::string EarlyEndText(const std::string& program);

/// From now on, until another phase begins, a signal ends the process with status 128 + signal,
/// after that text; of several processes the first says it.
void CatchEarlyEnd(const std::string& program);

/// Sets a text that such an end prints instead: something was written already.
void TellAtEarlyEnd(const std::string& text);

/// Names folders that were made for the results, the outermost first. Such an end removes them if
/// they are empty.
void DropAtEarlyEnd(const std::vector<std::string>& made);

/// From now on a signal is kept.
void KeepInterruption();
/// The same, of programs that simulate packets.
void KeepInterruptionOfRun();
/// An event loop begins: there are results to lose.
void EventsBegin();

/// The first signal that was kept; 0: there was none.
int Interruption();

/// Another process of the run has got a signal.
void TakeInterruption(int signal);

/// While this lives, signals are kept, however many; then CatchEarlyEnd's phase goes on.
class KeptForAWhile
{
  public:
    KeptForAWhile();
    ~KeptForAWhile();

    KeptForAWhile(const KeptForAWhile&) = delete;
    KeptForAWhile& operator=(const KeptForAWhile&) = delete;
};

} // namespace scenario

#endif // SCENARIOS_LAUNCH_INTERRUPTION_H
