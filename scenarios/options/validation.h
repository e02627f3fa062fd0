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
    Validation(const OptionTable& table,
               Values read,
               std::vector<Error> errors = {},
               std::vector<std::string> notes = {},
               std::shared_ptr<const JobSeat> seat = nullptr)
        : table(table),
          values(std::move(read)),
          errors(std::move(errors)),
          notes(std::move(notes)),
          seat(std::move(seat))
    {
        values.BindTo(table); // it may have been read by the table of another program
    }

    const OptionTable& table;
    Values values;
    std::vector<Error> errors;
    std::vector<std::string> notes;
    std::shared_ptr<const JobSeat> seat; ///< ReadResult::seat

    /// An error about an option as it was given, unless there is one about it.
    void Fail(const std::string& option, const std::string& problem, std::string nearest = "");

    void Fail(Member member, const std::string& problem, std::string nearest = "")
    {
        Fail(values.NameOf(member), problem, std::move(nearest));
    }

    /// A file named by an option could not be read; says what name may have been meant, if the
    /// option takes names too.
    void FailFile(const std::string& option, const std::vector<topo::Error>& errors);

    void FailFile(Member member, const std::vector<topo::Error>& errors)
    {
        FailFile(values.NameOf(member), errors);
    }

    /// A value decided here. Not marked as given.
    template <class S, class T>
    void Decide(T S::*member, const typename Held<T>::Type& to)
    {
        Value value;
        SetValue(&value, to);
        Decide(values.NameOf(member), value);
    }

    /// The same as users write it: "10us".
    void DecideText(Member member, const std::string& text)
    {
        Decide(values.NameOf(member), text);
    }

    void DecideTextUnlessGiven(Member member, const std::string& text)
    {
        DecideUnlessGiven(values.NameOf(member), text);
    }

    void Decide(const std::string& option, const std::string& text);

    /// A default that follows from others.
    template <class S, class T>
    void DecideUnlessGiven(T S::*member, const typename Held<T>::Type& to)
    {
        if (!values.Given(member))
        {
            Decide(member, to);
        }
    }

    void DecideUnlessGiven(const std::string& option, const std::string& text);
    /// An option has its value now. Other options whose rows have a condition on it, which does not
    /// hold, are refused, or a note says that they have no effect. Options of a mode that the run
    /// does not have leave the configuration as run.
    /// A default that somebody gave is no mistake: configurations as run have every default, and
    /// have to be read again.
    void Settle(const std::string& option);

    void Settle(Member member)
    {
        Settle(values.NameOf(member));
    }

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

    /// The option is given as what the run has without it.
    void IsUsual(Member member)
    {
        usual.insert(values.NameOf(member));
    }

    std::set<std::string> usual = {}; ///< options given as what the run has without them

  private:
    void Decide(const std::string& option, const Value& value);
    void Apply(const Option& option, const Condition& condition);
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_VALIDATION_H
