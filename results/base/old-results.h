/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RESULTS_BASE_OLD_RESULTS_H
#define RESULTS_BASE_OLD_RESULTS_H

#include <string>

namespace results
{

/// Remove the files that an earlier run left in this folder, those with the names of our outputs
/// (captures: with our header too): a run that does not write one, say fct.txt, would seem to have.
void RemoveOldResults(const std::string& folder);

} // namespace results

#endif // RESULTS_BASE_OLD_RESULTS_H
