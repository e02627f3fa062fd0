/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which build a program is of, and where its data are: a clone, or an installed package
 * (./ns3 package).
 *
 *     PREFIX/bin/            the programs
 *     PREFIX/lib/dltrain/    their libraries
 *     PREFIX/share/dltrain/  scripts/, scenarios/, topologies/ as in a clone
 */
#ifndef SCENARIOS_INSTALLATION_INSTALLATION_H
#define SCENARIOS_INSTALLATION_INSTALLATION_H

#include <string>
#include <vector>

namespace scenario
{

/// PREFIX/share/dltrain, by the place of the library that this function is in; empty: the program
/// is of a clone.
std::string InstalledHome();

/// A file as an option names it. One that is in no current folder, and that the package of this
/// program has, is that: scenarios/presets/default.json is a clone's, and a package's.
std::string InstalledFile(const std::string& path);

/// Folders that may have scripts/, the first one first: $DLTRAIN_ROOT, InstalledHome(), the clone
/// of the build. (Of a package that clone is not known: another one may be there by now.)
std::vector<std::string> Homes();

/// Homes() as an error names them: "DIR", "DIR or DIR".
std::string HomesText();

/// In the first line of each script.
constexpr const char* USUAL_PYTHON = "/usr/bin/python3";

/// Python for scripts of Homes(): USUAL_PYTHON; without one (a container of Python's own), python3
/// beside the programs, or the first one in PATH.
std::string Python();

/// Commit of the sources and release of ns-3: "commit 6fd32562, ns-3 3.37".
std::string BuildText();

/// How a person starts a program: ./ns3 run "dltrain --zero=2", of a package dltrain --zero=2.
std::string CommandText(const std::string& words);

/// The same of a script: scripts/timeline, of a package dltrain-timeline.
std::string ScriptText(const std::string& name);

} // namespace scenario

#endif // SCENARIOS_INSTALLATION_INSTALLATION_H
