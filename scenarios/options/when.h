/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where an option applies: one named predicate, attached to the row of the option.
 *
 *   Opt("flowlet-gap", ...).Only(when::Is("load-balancer", {"flowlet", "conga"}))
 *   Opt("tp-overlap", ...).IdleUnless(when::Above("tp", 1))
 *
 * Several conditions on a row must all hold. Each is checked when its own option has its value:
 * Validation::Settle("load-balancer"). The error, the note "has no effect", the words in --help,
 * the column "needs" of docs/options.md and the words of the report come from it.
 */
#ifndef SCENARIOS_OPTIONS_WHEN_H
#define SCENARIOS_OPTIONS_WHEN_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

struct OptionTable;
class Values;

struct When
{
    std::string option; ///< the option that decides: "load-balancer"; empty: several do
    std::string needs;  ///< the condition in words: "--load-balancer=flowlet or conga"
    /// Null: only the code that puts the run together knows. It calls Settle(when, holds).
    std::function<bool(const Values&)> holds = nullptr;
    std::vector<std::string> values = {}; ///< values of `option` that a table must know; or none
    bool usual = false;                   ///< holds by default: --help leaves it out
    bool hides = false;       ///< elsewhere, the configuration as run leaves the option out
    bool strict = false;      ///< elsewhere, the default is refused too if the command line has it
    bool excludes = false;    ///< `option` must be absent: "no --jobs"
    std::string because = {}; ///< reads on after the value that excludes: "whose step is recorded"

    When Usual() const
    {
        When same = *this;
        same.usual = true;
        return same;
    }

    When Hides() const
    {
        When same = *this;
        same.hides = true;
        return same;
    }

    When Strict() const
    {
        When same = *this;
        same.strict = true;
        return same;
    }

    When Because(std::string reason) const
    {
        When same = *this;
        same.because = std::move(reason);
        return same;
    }

    /// Whether a program with this table has `option` and its values.
    bool IsIn(const OptionTable& table) const;
};

/// A condition of a row, and what happens where it does not hold.
struct Condition
{
    When when;
    bool refuses = true;                ///< an error; else a note
    std::string idle = "has no effect"; ///< the note's words
};

namespace when
{

// Shapes of predicates.
When Is(const std::string& option, std::vector<std::string> names);
When IsNot(const std::string& option, std::vector<std::string> names);
When On(const std::string& flag);
When With(const std::string& option);    ///< the user gives it
When Without(const std::string& option); ///< the user does not give it
When Above(const std::string& option, double bound);
When Known(const std::string& option, const std::string& needs); ///< by Settle(when, holds) alone
When If(const std::string& option, const std::string& needs, bool (*holds)(const Values&));

} // namespace when

} // namespace scenario

#endif // SCENARIOS_OPTIONS_WHEN_H
