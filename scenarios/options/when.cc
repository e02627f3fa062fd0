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

When
Packets()
{
    return Is("network", {"packet"}).Usual().Hides().Strict();
}

When
Ethernet()
{
    return Is("fabric", {"roce"})
        .Usual()
        .Hides()
        .Strict()
        .Because("whose links have credits and whose switches mark by --fecn-threshold");
}

When
InfiniBand()
{
    return Is("fabric", {"ib"}).Hides().Strict();
}

When
Rdma()
{
    return Is("protocol", {"rdma"}).Usual();
}

When
OneJob()
{
    return Without("jobs").Usual();
}

When
Collectives()
{
    When when = If("strategy", "--strategy=sync", [](const Values& values) {
        return !values.Present("strategy") || values.Text("strategy") == "sync";
    });
    return when.Usual().Because("which has neither collectives nor stages");
}

When
Zero(const char* stages)
{
    const std::string text = stages;
    When when{"zero", "--zero=" + text};
    when.holds = [text](const Values& values) {
        return text.find(std::to_string(values.Integer("zero"))) != std::string::npos;
    };
    return when;
}

std::vector<When>
Model()
{
    std::vector<When> both = {
        Without("trace").Usual().Hides().Because("whose step is recorded"),
        Without("launch").Usual().Hides().Because("whose script says what is trained")};
    for (When& when : both)
    {
        when.needs = "a model";
        when.excludes = false;
    }
    return both;
}

When
TrainingJob()
{
    return Known("jobs", "a job that trains a model").Usual();
}

When
CommunicatingJob()
{
    return Known("jobs", "a job with collectives").Usual();
}

When
CutLinks()
{
    return Known("fault", "--fault=link-down, port-down, switch-down, nic-down or flap");
}

When
SharedLinks()
{
    return Is("network", {"packet", "fluid"}).Usual();
}

When
SeveralPriorities()
{
    return Known("", "flows of several priorities");
}

When
Sequences()
{
    return Known("model", "a model whose samples are sequences").Usual();
}

When
HalfPrecision()
{
    return Known("dtype", "--dtype of 16 bits").Usual();
}

When
Job(const char* needs)
{
    return Known("", needs).Usual();
}

} // namespace when

} // namespace scenario
