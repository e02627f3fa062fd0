/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What validation works on: values that were read one by one, with errors and notes to add.
 */
#ifndef SCENARIOS_OPTIONS_VALIDATION_H
#define SCENARIOS_OPTIONS_VALIDATION_H

#include "scenarios/options/options.h"
#include "topologies/error.h"

#include <set>
#include <string>
#include <vector>

namespace scenario
{

/// The validation of one scenario.
struct Validation
{
    const OptionTable& table;
    Values values;
    std::vector<Error> errors;
    std::vector<std::string> notes;
    std::shared_ptr<const JobSeat> seat = nullptr; ///< ReadResult::seat

    /// The seed of everything the scenario draws except its placement: --seed, or a seed of its own
    /// for a job beside others.
    uint64_t DrawSeed() const;

    /// An error about an option as it was given, unless there is one about it.
    void Fail(const std::string& option, const std::string& problem, std::string nearest = "");
    /// A file named by an option could not be read; says what name may have been meant, if the
    /// option takes names too.
    void FailFile(const std::string& option, const std::vector<topo::Error>& errors);
    /// A value decided here; in the text form of the option. Not marked as given.
    void Decide(const std::string& option, const std::string& text);
    /// A default that follows from others.
    void DecideUnlessGiven(const std::string& option, const std::string& text);
    /// An option has its value now. Other options whose rows have a condition on it, which does not
    /// hold, are refused, or a note says that they have no effect. Options of a mode that the run
    /// does not have leave the configuration as run.
    /// A default that somebody gave is no mistake: configurations as run have every default, and
    /// have to be read again.
    void Settle(const std::string& option);
    /// The same for a condition that is known only here.
    void Settle(const When& when, bool holds);
    /// Why an option cannot be given where a condition does not hold.
    std::string Refusal(const When& when) const;
    /// Names of the options that the run's modes leave out of the configuration as run.
    std::vector<std::string> Hidden() const;

    /// Sets the members of a struct that rows are bound to (Option::To).
    template <class S>
    void Fill(S* spec) const
    {
        for (const Option& option : table.options)
        {
            for (const Binding& binding : option.bindings)
            {
                if (binding.type == typeid(S))
                {
                    binding.set(values[option.name], spec);
                }
            }
        }
    }

    std::set<std::string> usual = {}; ///< options given as what the run has without them

  private:
    void Apply(const Option& option, const Condition& condition);
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_VALIDATION_H
