/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/validation.h"

#include "scenarios/options/said.h"
#include "scenarios/run/job-seat.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace scenario
{

std::string
SaidValue(const OptionTable& table, const Values& values, const std::string& option)
{
    const Value& value = values[option];
    if (!value.present)
    {
        return "";
    }
    // --no-pfc is the 0 of --pfc, and of --no-x none.
    const Option* o = table.Find(option);
    const bool negated = value.given && o && o->IsSwitch() && value.where.rfind("--no-", 0) == 0 &&
                         option.rfind("no-", 0) != 0;
    return negated ? "" : value.raw;
}

std::string
SaidText(const OptionTable& table, const Values& values, const std::string& option)
{
    const std::string value = SaidValue(table, values, option);
    return values.Where(option) + (value.empty() ? "" : "=" + value);
}

uint64_t
Validation::DrawSeed() const
{
    return seat ? seat->seed : values.Integer("seed");
}

void
Validation::Fail(const std::string& option, std::string problem, std::string nearest)
{
    Error error{values.Where(option),
                SaidValue(table, values, option),
                std::move(problem),
                std::move(nearest)};
    // Other problems with a value mostly follow from the first mistake in it.
    const bool told = std::any_of(errors.begin(), errors.end(), [&error](const Error& earlier) {
        return earlier.where == error.where && earlier.value == error.value;
    });
    if (!told)
    {
        errors.push_back(std::move(error));
    }
}

void
Validation::FailFile(const std::string& option, const std::vector<topo::Error>& errors)
{
    const Option* o = table.Find(option);
    Fail(option,
         errors.empty() ? "cannot be read" : errors[0].problem,
         o && o->names ? NearestName(values[option].raw, o->names()) : "");
}

void
Validation::Decide(const std::string& option, const std::string& text)
{
    const Option* o = table.Find(option);
    if (!o)
    {
        throw std::logic_error("no option --" + option + " in this table");
    }
    Value value;
    Error error;
    if (!ParseValue(*o, text, "--" + option, &value, &error))
    {
        throw std::logic_error("decided a value that is not valid: " + error.Text());
    }
    value.given = values[option].given;
    value.where = values[option].where;
    values.Slot(option) = std::move(value);
}

void
Validation::DecideUnlessGiven(const std::string& option, const std::string& text)
{
    if (!values.Given(option))
    {
        Decide(option, text);
    }
}

void
Validation::MustNotBeGiven(const std::vector<std::string>& options, const std::string& why)
{
    for (const auto& option : options)
    {
        if (values.Given(option))
        {
            Fail(option, why);
        }
    }
}

namespace
{

/// Given, and not what holds without it.
bool
IsSet(const Validation& v, const std::string& option)
{
    return v.values.Given(option) && v.values.Raw(option) != v.table.Find(option)->defaultText;
}

} // namespace

void
Validation::MustNotBeSet(const std::vector<std::string>& options, const std::string& why)
{
    for (const auto& option : options)
    {
        if (IsSet(*this, option))
        {
            Fail(option, why);
        }
    }
}

void
Validation::NoteIfSet(const std::vector<std::string>& options, const std::string& why)
{
    for (const auto& option : options)
    {
        if (IsSet(*this, option))
        {
            notes.push_back(values.Where(option) + " " + why);
        }
    }
}

} // namespace scenario
