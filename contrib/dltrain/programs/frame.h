/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FRAME_H
#define DLTRAIN_FRAME_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"

#include <functional>
#include <string>

namespace scenario
{
struct GoodputScenario;
struct KernelComparison;
struct MultiplexScenario;
struct PlannerScenario;
} // namespace scenario

namespace dltrain
{

/**
 * The frame of every program's main. With it no program ends silently, or with a wrong status:
 *
 *     int main(int argc, char* argv[])
 *     {
 *         return dltrain::RunProgram("traffic", [&] { ...; return status; });
 *     }
 *
 * - Standard output that cannot be written (a full disk, a closed pipe or descriptor) is one error
 *   and status 1, whatever the program printed on it: help too. A status that is not 0 stays.
 * - A file that is longer than `ulimit -f` allows cannot be written, as on a full disk.
 * - Text of the user's files cannot control the terminal: std::cout and std::cerr show control
 *   characters as \xNN (rdma::Printable). printf does not: print names with streams.
 * - Memory that cannot be had, an exception nobody caught and ns-3's fatal errors end with one
 *   error and status 1, not with a core dump. While a simulation runs, its files are completed
 *   first (LastResort).
 * - While a rdma::SetUpPhase lasts for seconds, standard error says so: a line that is written over
 *   on a terminal, else a line every five seconds; unless SetUpPhase::Quiet.
 */
int RunProgram(const std::string& name, const std::function<int()>& main);

/// The scenario of a command line. Help ends the program with 0, errors end it with 2; notes are
/// printed. Until signals are kept (scenarios/launch/interruption.h), one ends the program at once.
/// Of programs that simulate no packets: of others RunSimulator.
scenario::PlannerScenario PlannerOrExit(int argc, const char* const* argv);
scenario::GoodputScenario GoodputOrExit(int argc, const char* const* argv);
scenario::MultiplexScenario MultiplexOrExit(int argc, const char* const* argv);
scenario::KernelComparison KernelsOrExit(int argc, const char* const* argv);

/// Makes the folder of their results. \return 0; or the exit status: errors have been said
int MakeFolder(const scenario::Values& values, scenario::RunOptions* run);

/// main of a program that simulates packets: reads, prepares, then plans (--dry-run) or simulates,
/// alone or as one of mpirun's processes.
/// \tparam T TrainingScenario, CollperfScenario, TrafficScenario or ServingScenario
template <class T>
int RunSimulator(int argc, char** argv);

} // namespace dltrain

#endif // DLTRAIN_FRAME_H
