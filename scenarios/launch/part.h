/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Parts: shared libraries that a program loads when a run first asks for them, so that code that no
 * run needs is neither compiled nor linked. "tcp": ns-3's TCP and UDP; "mpi": several processes.
 */
#ifndef SCENARIOS_LAUNCH_PART_H
#define SCENARIOS_LAUNCH_PART_H

#include <string>

namespace scenario
{

/// \return whether the library of a part is beside the program's own libraries
bool IsPartBuilt(const std::string& name);

/**
 * The library of a part, beside the program's own libraries. If it is not there, the clone builds
 * it ("./ns3 build --part=NAME"), which says so on standard error. \return its path \throws
 * std::runtime_error: it could not be built; the text says what to type
 */
std::string PartLibrary(const std::string& name);

/// \return "./ns3 build --part=NAME"
std::string PartCommand(const std::string& name);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_PART_H
