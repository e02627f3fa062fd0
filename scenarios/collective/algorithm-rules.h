/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The words of --algorithm and --compare: NAME, OP=NAME, with sizes.
 */
#ifndef SCENARIOS_COLLECTIVE_ALGORITHM_RULES_H
#define SCENARIOS_COLLECTIVE_ALGORITHM_RULES_H

#include "collectives/core/schedule.h"
#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <set>
#include <string>
#include <vector>

namespace scenario
{

/// Reads the rules in the words of an option. One object reads all words of the option, so that it
/// can refuse rules that are given twice.
class AlgorithmRules
{
  public:
    /// \param used what the run does \param option whose words these are
    AlgorithmRules(Validation* v,
                   const std::vector<coll::Collective>& used,
                   std::string option = "algorithm");

    /// \return the word in its normal spelling; empty after an error
    std::string Read(const std::string& word, std::vector<AlgorithmRule>* rules);

  private:
    std::string Fail(const std::string& word,
                     const std::string& problem,
                     const std::string& nearest);
    /// NAME or NAME@FROM-TO.
    std::string ReadPart(const std::string& word,
                         const std::string& part,
                         const std::vector<coll::Op>& ops,
                         bool named,
                         std::vector<AlgorithmRule>* rules);
    /// FROM-TO or FROM-. \return its normal spelling; empty: it is no range
    static std::string ReadRange(const std::string& range, AlgorithmRule* rule);

    Validation* m_v;
    const std::vector<coll::Collective>& m_used;
    std::string m_option;
    std::vector<NamedItem> m_items;
    std::set<coll::Op> m_seen;
    uint32_t m_all = 0;
};

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_ALGORITHM_RULES_H
