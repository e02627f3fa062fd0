/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_INSTALLATION_BUILD_IDENTITY_H
#define SCENARIOS_INSTALLATION_BUILD_IDENTITY_H

namespace scenario
{

/// Written anew when the commit or a source changes (scripts/setup/build-identity.cmake): nothing
/// else is compiled for it.
extern const char* const BUILD_COMMIT; ///< "6fd32562"; "6fd32562 with changes"; "unknown": no git
extern const char* const BUILD_NS3;    ///< "3.37"; empty: no ns-3, a build of the pure folders

} // namespace scenario

#endif // SCENARIOS_INSTALLATION_BUILD_IDENTITY_H
