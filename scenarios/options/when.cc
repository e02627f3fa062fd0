/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/when.h"

#include "scenarios/options/options.h"

#include <algorithm>
#include <sstream>

namespace scenario
{

namespace
{

/// "a, b or c".
std::string
Alternatives(const std::vector<std::string>& names)
{
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
    {
        text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    }
    return text;
}

bool
Has(const std::vector<std::string>& names, const std::string& name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

bool
When::IsIn(const OptionTable& table) const
{
    const Option* o = table.Find(option);
    return option.empty() ||
           (o && std::all_of(values.begin(), values.end(), [o](const std::string& value) {
                return !o->names || !NameMeant(*o, value).empty();
            }));
}

namespace when
{

When
Is(const std::string& option, std::vector<std::string> names)
{
    When when{option, "--" + option + "=" + Alternatives(names)};
    when.values = names;
    when.holds = [option, names = std::move(names)](const Values& values) {
        return Has(names, values.Text(option));
    };
    return when;
}

When
IsNot(const std::string& option, std::vector<std::string> names)
{
    When when{option, "--" + option + " other than " + Alternatives(names)};
    when.values = names;
    when.holds = [option, names = std::move(names)](const Values& values) {
        return !Has(names, values.Text(option));
    };
    return when;
}

When
On(const std::string& flag)
{
    return {flag, "--" + flag, [flag](const Values& values) { return values.Flag(flag); }};
}

When
With(const std::string& option)
{
    return {option, "--" + option, [option](const Values& values) {
                return values.Given(option) && !values.Raw(option).empty();
            }};
}

When
Without(const std::string& option)
{
    When when{option, "no --" + option};
    when.excludes = true;
    when.holds = [option](const Values& values) {
        return !values.Given(option) && !values.Present(option);
    };
    return when;
}

When
Above(const std::string& option, double bound)
{
    std::ostringstream least;
    least << "--" << option;
    if (bound > 0)
    {
        least << " above " << bound;
    }
    return {option, least.str(), [option, bound](const Values& values) {
                return values.Real(option) > bound ||
                       static_cast<double>(values.Integer(option)) > bound;
            }};
}

When
Known(const std::string& option, const std::string& needs)
{
    return {option, needs};
}

When
If(const std::string& option, const std::string& needs, bool (*holds)(const Values&))
{
    return {option, needs, holds};
}

} // namespace when

} // namespace scenario
