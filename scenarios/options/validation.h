/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What validation works on: values that were read one by one, with errors and notes to add.
 */
#ifndef SCENARIOS_OPTIONS_VALIDATION_H
#define SCENARIOS_OPTIONS_VALIDATION_H

#include "scenarios/options/options.h"
#include "topologies/error.h"

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
    void Fail(const std::string& option, std::string problem, std::string nearest = "");
    /// A file named by an option could not be read; says what name may have been meant, if the
    /// option takes names too.
    void FailFile(const std::string& option, const std::vector<topo::Error>& errors);
    /// A value decided here; in the text form of the option. Not marked as given.
    void Decide(const std::string& option, const std::string& text);
    /// A default that follows from others.
    void DecideUnlessGiven(const std::string& option, const std::string& text);
    /// Errors for options that were given although `why` makes them meaningless: "has no meaning
    /// with --flows".
    void MustNotBeGiven(const std::vector<std::string>& options, const std::string& why);
    /// The same, but not for an option that says what holds without it: configurations as run have
    /// every default, and have to be read again.
    void MustNotBeSet(const std::vector<std::string>& options, const std::string& why);
    /// A note instead, for options that merely have nothing to do, as they have in one row of a
    /// sweep: "has no effect with --tp=1".
    void NoteIfSet(const std::vector<std::string>& options, const std::string& why);
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_VALIDATION_H
