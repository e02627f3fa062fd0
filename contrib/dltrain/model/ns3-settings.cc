/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-settings.h"

#include "topologies/names.h"

#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/string.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <regex>
#include <vector>

namespace dltrain
{

namespace
{

/// Some value classes of ns-3 abort the program on a text they cannot read, instead of refusing it.
bool
WouldAbort(const std::string& valueType, const std::string& text)
{
    static const std::regex time(
        R"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(s|ms|us|ns|ps|fs|min|h|d|y)?)");
    static const std::regex rate(
        R"((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?([kKMGT]?i?(bps|b/s|Bps|B/s)))");
    return (valueType == "ns3::TimeValue" && !std::regex_match(text, time)) ||
           (valueType == "ns3::DataRateValue" && !std::regex_match(text, rate));
}

/// "; did you mean 'x'?", or what there is.
std::string
Hint(const std::string& name, const std::vector<std::string>& known, const std::string& what)
{
    const std::string nearest = topo::NearestName(name, known);
    if (!nearest.empty())
    {
        return "; did you mean " + nearest + "?";
    }
    std::string text;
    if (known.size() <= 30)
    {
        for (const std::string& one : known)
        {
            text += (text.empty() ? "; " + what + ": " : ", ") + one;
        }
    }
    return text;
}

std::vector<std::string>
TypeNames()
{
    std::vector<std::string> names;
    for (uint16_t i = 0; i < ns3::TypeId::GetRegisteredN(); ++i)
    {
        names.push_back(ns3::TypeId::GetRegistered(i).GetName());
    }
    return names;
}

/// \param where how the user gave it. \param name "ns3::RdmaNic::Mtu"
bool
Set(const std::string& where, const std::string& name, const std::string& value, std::string& error)
{
    const std::size_t colons = name.rfind("::");
    if (colons == std::string::npos &&
        ns3::Config::SetGlobalFailSafe(name, ns3::StringValue(value)))
    {
        return true;
    }
    ns3::TypeId type;
    if (colons == std::string::npos ||
        !ns3::TypeId::LookupByNameFailSafe(name.substr(0, colons), &type))
    {
        const std::string typeName = colons == std::string::npos ? name : name.substr(0, colons);
        error = where + ": there is no ns-3 class " + typeName +
                Hint(typeName, TypeNames(), "classes") + " (--PrintTypeIds lists them)";
        return false;
    }
    const std::string attribute = name.substr(colons + 2);
    ns3::TypeId::AttributeInformation info;
    if (!type.LookupAttributeByName(attribute, &info))
    {
        std::vector<std::string> known;
        for (std::size_t i = 0; i < type.GetAttributeN(); ++i)
        {
            known.push_back(type.GetAttribute(i).name);
        }
        error = where + ": " + type.GetName() + " has no attribute " + attribute +
                Hint(attribute, known, "it has");
        return false;
    }
    if (WouldAbort(info.checker->GetValueTypeName(), value) ||
        !ns3::Config::SetDefaultFailSafe(name, ns3::StringValue(value)))
    {
        error = where + ": '" + value + "' is not valid; " + name + " takes " +
                info.checker->GetValueTypeName() +
                (info.checker->HasUnderlyingTypeInformation()
                     ? " (" + info.checker->GetUnderlyingTypeInformation() + ")"
                     : "") +
                ": " + info.help;
        return false;
    }
    return true;
}

/// --Print...: ends the program if it is valid.
bool
Print(const std::string& argument, std::string& error)
{
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    const std::vector<std::string> known{"PrintHelp",
                                         "PrintVersion",
                                         "PrintGroups",
                                         "PrintGroup",
                                         "PrintTypeIds",
                                         "PrintAttributes",
                                         "PrintGlobals"};
    ns3::TypeId type;
    if (std::find(known.begin(), known.end(), name) == known.end())
    {
        error = argument + ": no such option" + Hint(name, known, "ns-3 has");
        return false;
    }
    if (name == "PrintAttributes" && !ns3::TypeId::LookupByNameFailSafe(value, &type))
    {
        error = argument + ": there is no ns-3 class '" + value + "'" +
                Hint(value, TypeNames(), "classes");
        return false;
    }
    ns3::CommandLine commandLine;
    commandLine.Parse({"", argument});
    return true;
}

} // namespace

bool
ApplyNs3Settings(const scenario::RunOptions& run, std::string& error)
{
    for (const auto& [name, value] : run.attributes)
    {
        if (!Set("\"ns3\" in the scenario: " + name, name, value, error))
        {
            return false;
        }
    }
    for (const std::string& argument : run.ns3Arguments)
    {
        if (argument.rfind("--Print", 0) == 0)
        {
            if (!Print(argument, error))
            {
                return false;
            }
            continue;
        }
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos)
        {
            error = argument + ": needs a value, --ns3::Class::Attribute=value";
            return false;
        }
        if (!Set(argument.substr(0, equals),
                 argument.substr(2, equals - 2),
                 argument.substr(equals + 1),
                 error))
        {
            return false;
        }
    }
    return true;
}

} // namespace dltrain
