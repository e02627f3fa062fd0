/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "slurm.h"

#include "contrib/rdma/core/regular-file.h"
#include "scenarios/asked/run.h"
#include "scenarios/options/member.h"

#include <array>
#include <boost/program_options/parsers.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>

namespace dltrain
{

namespace
{

/// In quotes for a shell.
std::string
Quoted(const std::string& word)
{
    std::string quoted = "'";
    for (const char c : word)
    {
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + "'";
}

/// \return what a command prints, and whether it ended well
bool
Ask(const std::vector<std::string>& words, std::string* said)
{
    std::string command;
    for (const std::string& word : words)
    {
        command += Quoted(word) + " ";
    }
    std::FILE* const pipe = ::popen((command + "2>&1").c_str(), "r");
    std::array<char, 4096> buffer;
    while (pipe && std::fgets(buffer.data(), buffer.size(), pipe))
    {
        *said += buffer.data();
    }
    return pipe && ::pclose(pipe) == 0;
}

std::string
FirstLine(const std::string& text)
{
    return text.substr(0, text.find('\n'));
}

} // namespace

Slurm::Slurm(const std::string& options)
    : m_options(boost::program_options::split_unix(options))
{
    for (std::string& word : m_options)
    {
        word.insert(0, word.rfind('-', 0) == 0 ? "" : "--");
    }
}

std::vector<std::string>
Slurm::Words() const
{
    std::vector<std::string> words = {"srun", "--nodes=1", "--ntasks=1", "--quiet", "--input=none"};
    words.emplace_back("--job-name=dltrain");
    words.insert(words.end(), m_options.begin(), m_options.end());
    return words;
}

std::string
Slurm::WhyNot(const std::string& folder, const std::string& program) const
{
    std::string said;
    if (!Ask({"sh", "-c", "command -v srun"}, &said))
    {
        return "there is no srun; allowed: a machine that submits to Slurm (Debian: slurm-client), "
               "or " +
               scenario::Spell(&scenario::asked::Run::on) + "=local";
    }
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    const std::string file = folder + "/shared";
    if (const std::string why = rdma::WriteWhole(file, "here\n"); !why.empty())
    {
        return file + ": cannot be written: " + why;
    }
    std::vector<std::string> words = Words();
    for (const char* const word :
         {"--chdir=/", "sh", "-c", "cat \"$0\" && test -x \"$1\" && echo program; hostname"})
    {
        words.emplace_back(word);
    }
    words.push_back(file);
    words.push_back(program);
    said.clear();
    const bool well = Ask(words, &said);
    std::filesystem::remove(file, failed);
    if (!well)
    {
        return FirstLine(said);
    }
    if (said.find("here\n") == std::string::npos)
    {
        return folder + ": is not seen by nodes; allowed: a folder that they share, for " +
               scenario::Spell(&scenario::asked::Run::out);
    }
    if (said.find("program\n") == std::string::npos)
    {
        return program + ": is not on nodes; allowed: a program where they see it";
    }
    return "";
}

std::string
Slurm::LostNode(const std::string& log)
{
    std::ifstream file(log);
    // "srun: error: Node failure on n1"; "srun: error: n1: task 0: ..." is the run's own end.
    const std::regex lost("srun: error: (?:Aborting, )?.*[Nn]ode failure on ([^ ,]+).*");
    std::smatch found;
    for (std::string line; std::getline(file, line);)
    {
        if (std::regex_match(line, found, lost))
        {
            return found[1];
        }
    }
    return "";
}

} // namespace dltrain
