/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/mpirun-words.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <regex>

namespace scenario
{

namespace
{

/// Above and below each notice: opal/util/show_help.c.
const std::string&
Rule()
{
    static const std::string rule = std::string(74, '-') + "\n";
    return rule;
}

/// Longer than any of mpirun's notices.
constexpr std::size_t kMostNotice = 2000;

/// \return how many of the last characters may be the begin of a rule
std::size_t
BeginOfRule(const std::string& text)
{
    const std::string& rule = Rule();
    for (std::size_t n = std::min(text.size(), rule.size() - 1); n > 0; --n)
    {
        if (text.compare(text.size() - n, n, rule, 0, n) == 0)
        {
            return n;
        }
    }
    return 0;
}

struct MpiSetting
{
    const char* name;
    std::string value;
    const char* instead = nullptr; ///< says the same in another way; Open MPI takes one of them
};

std::vector<std::string>
Missing(const std::vector<MpiSetting>& settings, const std::function<bool(const char*)>& isSet)
{
    std::vector<std::string> missing;
    for (const MpiSetting& setting : settings)
    {
        if (!isSet(setting.name) && !(setting.instead && isSet(setting.instead)))
        {
            missing.push_back(std::string(setting.name) + "=" + setting.value);
        }
    }
    return missing;
}

/// Of any run, wherever its processes are.
std::vector<MpiSetting>
CommonSettings()
{
    return {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1", nullptr},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", nullptr},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1", nullptr},
        // By shared memory and TCP, not by RDMA cards.
        {"OMPI_MCA_pml", "ob1", nullptr},
        // It needs a right that containers withhold.
        {"OMPI_MCA_btl_vader_single_copy_mechanism", "none", nullptr},
        // Ranks wait for each other all the time: whoever waits gives its core to others, to ranks
        // where these are more than cores and to other work.
        {"OMPI_MCA_mpi_yield_when_idle", "1", nullptr},
        // By default each is bound to a core, those of every mpirun to the same ones.
        {"OMPI_MCA_hwloc_base_binding_policy", "none", nullptr},
    };
}

} // namespace

std::string
WhyFilesAreTooShort(uint64_t limit)
{
    // Open MPI 4.1 (btl_vader_segment_size): 4 MiB a process, in a file each, and somewhat more;
    // measured, 4,200 KiB are enough and 4,000 are not.
    constexpr uint64_t kNeeded = uint64_t{4200} << 10;
    if (limit >= kNeeded)
    {
        return {};
    }
    return "files may have " + std::to_string(limit) +
           " B at most (ulimit -f), and processes share memory by files of 4 MiB; allowed: 1, or a "
           "limit of " +
           std::to_string(kNeeded) + " B or more";
}

std::vector<std::string>
MissingMpiSettings(uint32_t ranks, const std::function<bool(const char*)>& isSet)
{
    std::vector<MpiSetting> settings = CommonSettings();
    settings.insert(settings.end(),
                    {// All on this machine, whatever host file or batch system there is.
                     {"OMPI_MCA_orte_default_dash_host",
                      "localhost:" + std::to_string(ranks),
                      "OMPI_MCA_orte_default_hostfile"},
                     {"OMPI_MCA_btl_tcp_if_include", "lo", "OMPI_MCA_btl_tcp_if_exclude"},
                     {"OMPI_MCA_oob_tcp_if_include", "lo", "OMPI_MCA_oob_tcp_if_exclude"}});
    return Missing(settings, isSet);
}

std::vector<std::string>
MissingHostSettings(const std::function<bool(const char*)>& isSet)
{
    std::vector<MpiSetting> settings = CommonSettings();
    settings.insert(settings.end(),
                    {{"OMPI_MCA_btl", "self,vader,tcp", nullptr},
                     // A host without power answers nothing: its daemon is lost after 5 s.
                     {"OMPI_MCA_oob_tcp_keepalive_time", "2", nullptr},
                     {"OMPI_MCA_oob_tcp_keepalive_intvl", "1", nullptr},
                     {"OMPI_MCA_oob_tcp_keepalive_probes", "3", nullptr}});
    return Missing(settings, isSet);
}

std::string
MpirunErrors::Take(const std::string& text)
{
    m_held += text;
    const std::string& rule = Rule();
    std::string passed;
    const auto pass = [&](std::size_t bytes) {
        passed += m_held.substr(0, bytes);
        m_held.erase(0, bytes);
    };
    for (;;)
    {
        const std::size_t begin = m_held.find(rule);
        if (begin == std::string::npos)
        {
            pass(m_held.size() - BeginOfRule(m_held));
            return WithoutLines(passed);
        }
        pass(begin);
        const std::size_t end = m_held.find(rule, rule.size());
        if (end == std::string::npos)
        {
            if (m_held.size() > kMostNotice)
            {
                pass(rule.size()); // somebody else's
                continue;
            }
            return WithoutLines(passed);
        }
        if (IsNotice(m_held.substr(rule.size(), end - rule.size())))
        {
            m_held.erase(0, end + rule.size());
        }
        else
        {
            pass(end); // the second rule may be the first of a notice
        }
    }
}

std::string
MpirunErrors::Flush()
{
    std::string all = WithoutLines(m_held);
    m_held.clear();
    all += m_line;
    m_inLine = !all.empty() && all.back() != '\n' && all.back() != '\r';
    m_line.clear();
    return all;
}

std::string
MpirunErrors::WithoutLines(const std::string& text)
{
    if (!m_keepsAside)
    {
        return text;
    }
    // "[node1:12345] 1 more process has sent help message ...", libevent's "[warn] ..."
    static const std::regex own(
        "(\\[([^\\]\\s]+:[0-9]+|warn|err)\\]|mpirun: (abort is already|Forwarding signal))"
        "[\\s\\S]*");
    std::string passed;
    for (const char c : text)
    {
        if (c == '\n' && m_line.empty() && m_afterOwn)
        {
            continue; // mpirun says "abort ..." and leaves a line
        }
        m_afterOwn = false;
        const bool ends = c == '\n' || c == '\r'; // progress ends its lines so
        if (m_inLine || (m_line.empty() && c != '[' && c != 'm'))
        {
            passed += c;
            m_inLine = !ends;
            continue;
        }
        m_line += c;
        if (ends)
        {
            m_afterOwn = std::regex_match(m_line, own);
            (m_afterOwn ? m_aside : passed) += m_line;
            m_line.clear();
        }
    }
    return passed;
}

bool
MpirunErrors::IsNotice(const std::string& text)
{
    // orte/tools/orterun/help-orterun.txt and orte/mca/errmgr/base/help-errmgr-base.txt
    static const std::regex killed("mpirun noticed that process rank ([0-9]{1,9}) with PID [0-9]+ "
                                   "on node \\S+ exited on signal ([0-9]{1,3}) [\\s\\S]*");
    static const std::regex ended(
        "mpirun detected that one or more processes exited with non-zero status, thus causing\\s+"
        "the job to be terminated\\. The first process to do so was:\\s+"
        "Process name: \\[\\[[0-9]+,[0-9]+\\],([0-9]{1,9})\\]\\s+Exit code: +([0-9]{1,3})\\s*");
    static const std::regex job("(Primary|Child) job\\s[\\s\\S]*terminated normally, but "
                                "[0-9]+ process(es)? returned\\s+a non-zero exit "
                                "code[\\s\\S]*the job has been aborted\\.\\s*");
    // orte/mca/oob/base and orte/mca/plm/base: a host, or its daemon, is gone
    static const std::regex lost("ORTE has lost communication with a remote daemon\\.[\\s\\S]*"
                                 "Remote daemon: \\S+ on node (\\S+)[\\s\\S]*");
    // orte/mca/plm/base, opal/mca/btl/tcp, ompi/errhandler: follows of it, without a host's name
    static const std::regex connections("ORTE was unable to|ORTE does not know|TCP connect|"
                                        "peer process has unexpectedly|PML add procs failed|"
                                        "MPI_ABORT was invoked");
    std::smatch found;
    if (std::regex_match(text, found, lost))
    {
        m_lostHost = m_lostHost.empty() ? found[1].str() : m_lostHost;
        return true;
    }
    RankEnd end;
    if (std::regex_match(text, found, killed))
    {
        end.signal = std::stoi(found[2]);
    }
    else if (std::regex_match(text, found, ended))
    {
        end.status = std::stoi(found[2]);
    }
    else if (m_keepsAside && std::regex_search(text, connections))
    {
        m_aside += text;
        return true;
    }
    else
    {
        return std::regex_match(text, job);
    }
    end.rank = static_cast<uint32_t>(std::stoul(found[1]));
    m_end = m_end ? m_end : end;
    return true;
}

std::string
SignalText(int number)
{
    const std::string digits = std::to_string(number);
    const char* name = ::sigabbrev_np(number);
    return name ? digits + " (SIG" + name + ")" : digits;
}

std::string
DescribeEnd(const RankEnd& end, uint32_t ranks, const std::vector<MpiHost>& hosts)
{
    std::string where;
    uint32_t next = 0; // the first rank of the next host
    for (const MpiHost& host : hosts)
    {
        next += host.ranks;
        where = where.empty() && end.rank < next ? "on " + host.name + " " : where;
    }
    const std::string who =
        "rank " + std::to_string(end.rank) + " of " + std::to_string(ranks) + " " + where;
    if (end.signal)
    {
        return who + "was killed by signal " + SignalText(end.signal) + ": results are incomplete" +
               (end.signal == SIGKILL ? " (the system does so where memory runs out)" : "");
    }
    if (end.status > 3 && end.status <= 128)
    {
        return who + "ended with status " + std::to_string(end.status) + ": results are incomplete";
    }
    return "";
}

} // namespace scenario
