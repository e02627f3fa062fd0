/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_BASE_OLD_RESULTS_H
#define REPORTS_BASE_OLD_RESULTS_H

#include <string>
#include <vector>

namespace reports
{

/// Remove the files that an earlier run left in this folder, those with the names of our outputs
/// (captures: with our header too; exports): a run that does not write one, say fct.txt, would seem
/// to have.
/// \param inputs files and folders that this run reads, which stay
void RemoveOldResults(const std::string& folder, const std::vector<std::string>& inputs = {});

} // namespace reports

#endif // REPORTS_BASE_OLD_RESULTS_H
