/* Programs that mine coins on other people's machines, by what brings them there and what sets them up. */

rule Miner_Dropped_By_Script
{
    meta:
        author = "Lazaret"
        description = "A script that downloads a miner and points it to a pool"
    strings:
        $pool = /stratum\+(tcp|ssl|tls):\/\/[A-Za-z0-9.\-]{4,80}:[0-9]{2,5}/ nocase
        $miner = /\b(xmrig|xmr-stak|minerd|cpuminer|ccminer|nbminer|t-rex|phoenixminer|kinsing|kdevtmpfsi)\b/ nocase
        $download = /\b(wget|curl|downloadfile|downloadstring|invoke-webrequest|iwr|start-bitstransfer|bitsadmin|certutil)\b/ nocase
    condition:
        filesize < 1MB and all of them
}

rule Miner_Command_Line
{
    meta:
        author = "Lazaret"
        description = "A miner started with a wallet, in the background"
    strings:
        $wallet = /(-u |--user=|--user )4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}\b/
        $quiet = /--donate-level|--background|nohup |--cpu-max-threads-hint|>\/dev\/null|> \/dev\/null/
    condition:
        filesize < 1MB and all of them
}

rule Miner_Settings
{
    meta:
        author = "Lazaret"
        description = "Settings of XMRig with a wallet in them"
    strings:
        $donate = "\"donate-level\""
        $pools = "\"pools\""
        $wallet = /"user"\s{0,4}:\s{0,4}"4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}/
    condition:
        filesize < 1MB and all of them
}

rule Miner_In_Web_Page
{
    meta:
        author = "Lazaret"
        description = "A web page that mines in the visitor's browser"
    strings:
        $start = /new\s{1,4}(CoinHive|CoinImp|CRLT|deepMiner|CryptoLoot|Webmine)\.(Anonymous|User|Token)\s{0,4}\(/
    condition:
        $start
}
