/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/installation/installation.h"

#include "scenarios/installation/build-identity.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

namespace scenario
{

namespace
{

/// PREFIX of an installed package; empty: a clone.
std::filesystem::path
Prefix()
{
    Dl_info info;
    std::error_code failed;
    if (::dladdr(reinterpret_cast<void*>(&InstalledHome), &info) == 0 || !info.dli_fname)
    {
        return {};
    }
    const auto library = std::filesystem::canonical(info.dli_fname, failed);
    const auto folder = library.parent_path(); // PREFIX/lib/dltrain
    const auto prefix = folder.parent_path().parent_path();
    return !failed && folder.filename() == "dltrain" &&
                   std::filesystem::is_directory(prefix / "share/dltrain/scripts", failed)
               ? prefix
               : std::filesystem::path{};
}

} // namespace

std::string
InstalledHome()
{
    const auto prefix = Prefix();
    return prefix.empty() ? "" : (prefix / "share/dltrain").string();
}

std::string
InstalledFile(const std::string& path)
{
    std::error_code failed;
    if (path.empty() || path.front() == '/' || std::filesystem::exists(path, failed))
    {
        return path;
    }
    const std::string home = InstalledHome();
    const std::string ours = home + "/" + path;
    return !home.empty() && std::filesystem::is_regular_file(ours, failed) ? ours : path;
}

std::vector<std::string>
Homes()
{
    const char* const named = std::getenv("DLTRAIN_ROOT");
    std::vector<std::string> homes;
    for (const std::string& home :
         {std::string(named ? named : ""), InstalledHome(), std::string(DLTRAIN_ROOT)})
    {
        if (!home.empty())
        {
            homes.push_back(home);
        }
    }
    return homes;
}

std::string
HomesText()
{
    std::string text;
    for (const std::string& home : Homes())
    {
        text += (text.empty() ? "" : " or ") + home;
    }
    return text.empty() ? "this package" : text;
}

std::string
Python()
{
    std::vector<std::string> folders;
    if (const auto prefix = Prefix(); !prefix.empty())
    {
        folders.push_back((prefix / "bin").string());
    }
    if (::access(USUAL_PYTHON, X_OK) == 0)
    {
        return USUAL_PYTHON;
    }
    const char* const path = std::getenv("PATH");
    std::string rest = path ? path : "";
    while (!rest.empty())
    {
        const std::size_t end = rest.find(':');
        folders.push_back(rest.substr(0, end));
        rest.erase(0, end == std::string::npos ? end : end + 1);
    }
    for (const std::string& folder : folders)
    {
        const std::string python = folder + "/python3";
        if (!folder.empty() && ::access(python.c_str(), X_OK) == 0)
        {
            return python;
        }
    }
    return USUAL_PYTHON;
}

std::string
BuildText()
{
    const std::string ns3 = BUILD_NS3;
    return std::string("commit ") + BUILD_COMMIT +
           (ns3.empty() ? ", without ns-3" : ", ns-3 " + ns3);
}

std::string
ScriptText(const std::string& name)
{
    return (InstalledHome().empty() ? "scripts/" : "dltrain-") + name;
}

std::string
CommandText(const std::string& words)
{
    return InstalledHome().empty() ? "./ns3 run \"" + words + "\"" : words;
}

} // namespace scenario
