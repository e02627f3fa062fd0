/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/validation.h"

#include "scenarios/options/said.h"

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

void
Validation::Fail(const std::string& option, const std::string& problem, std::string nearest)
{
    Error error{values.Where(option),
                SaidValue(table, values, option),
                problem,
                std::move(nearest)};
    // "--recipe=megatron: --zero": to choose the recipe was the mistake, once.
    const bool ofRecipe = error.where.rfind("--recipe=", 0) == 0;
    const std::string by =
        ofRecipe ? error.where.substr(0, error.where.find(':') + 1) : std::string();
    // Other problems with a value mostly follow from the first mistake in it.
    const bool told = std::any_of(errors.begin(), errors.end(), [&](const Error& earlier) {
        return (earlier.where == error.where && earlier.value == error.value) ||
               (!by.empty() && earlier.where.rfind(by, 0) == 0);
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
Validation::Decide(const std::string& option, const Value& value)
{
    const Option* o = table.Find(option);
    if (!o)
    {
        throw std::logic_error("no option --" + option + " in this table");
    }
    Decide(option, CanonicalText(*o, value));
}

void
Validation::DecideUnlessGiven(const std::string& option, const std::string& text)
{
    if (!values.Given(option))
    {
        Decide(option, text);
    }
}

std::string
Validation::Refusal(const When& when) const
{
    if (!table.Find(when.option))
    {
        return "needs " + when.needs;
    }
    const Value& decides = values[when.option];
    const bool bare = table.Find(when.option)->kind == Kind::kFlag && decides.flag;
    const std::string said =
        bare ? values.Where(when.option) : SaidText(table, values, when.option);
    if (when.excludes || values.Given(when.option))
    {
        return "cannot be combined with " + said + (when.because.empty() ? "" : ", ") +
               when.because +
               (when.excludes ? ". Use one of them." : ". It needs " + when.needs + ".");
    }
    const bool told = values.Present(when.option) && !SaidValue(table, values, when.option).empty();
    return "needs " + when.needs + (told ? ". This run has " + said + "." : "");
}

void
Validation::Apply(const Option& option, const Condition& condition)
{
    const When& when = condition.when;
    // A flag that is off asks for nothing.
    const bool isDefault =
        values.Raw(option.name) == option.defaultText ||
        (option.defaultNote == "0" && option.kind == Kind::kFlag && !values.Flag(option.name)) ||
        usual.count(option.name) > 0;
    if (values.Given(option.name) && (!isDefault || (when.strict && condition.refuses)))
    {
        if (condition.refuses)
        {
            Fail(option.name, Refusal(when));
        }
        else
        {
            const bool said = !when.option.empty() && values.Given(when.option);
            notes.push_back(values.Where(option.name) + " " + condition.idle +
                            (said ? " with " + SaidText(table, values, when.option) : "") +
                            ": it needs " + when.needs);
        }
    }
    if (when.hides && condition.refuses)
    {
        values.Slot(option.name).present = false;
    }
}

void
Validation::Settle(const std::string& decided)
{
    for (const Option& option : table.options)
    {
        for (const Condition& condition : option.conditions)
        {
            const When& when = condition.when;
            if (when.option == decided && when.holds && when.IsIn(table) && !when.holds(values))
            {
                Apply(option, condition);
            }
        }
    }
}

void
Validation::Settle(const When& when, bool holds)
{
    for (const Option& option : table.options)
    {
        for (const Condition& condition : option.conditions)
        {
            if (!holds && condition.when.option == when.option &&
                condition.when.needs == when.needs)
            {
                Apply(option, condition);
            }
        }
    }
}

std::vector<std::string>
Validation::Hidden() const
{
    std::vector<std::string> names;
    for (const Option& option : table.options)
    {
        for (const Condition& condition : option.conditions)
        {
            const When& when = condition.when;
            if (condition.refuses && when.hides && when.IsIn(table) && when.holds &&
                !when.holds(values))
            {
                names.push_back(option.name);
            }
        }
    }
    return names;
}

} // namespace scenario
