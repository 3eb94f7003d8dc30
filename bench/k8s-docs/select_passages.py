import json,random,re,math
from collections import Counter
import snowballstemmer
st=snowballstemmer.stemmer('english')
D=[json.loads(l) for l in open('corpus.jsonl')]
tok=lambda t:re.findall(r'[a-z0-9]+',t.lower())
S=[Counter(st.stemWords(tok(d['text']))) for d in D]
df=Counter(s for c in S for s in c)
N=len(D)
V=[]
for c in S:
    v={s:(1+math.log(n))*math.log(N/df[s]) for s,n in c.items()}
    z=math.sqrt(sum(x*x for x in v.values())) or 1
    V.append({s:x/z for s,x in v.items()})
inv={}
for i,v in enumerate(V):
    for s in v: inv.setdefault(s,[]).append(i)
dup=set()
for i,v in enumerate(V):
    sc=Counter()
    for s,x in v.items():
        if df[s]>600: continue
        for j in inv[s]:
            if j!=i: sc[j]+=x*V[j][s]
    if sc and max(sc.values())>0.6: dup.add(i)
STOP=set('the a of to is are and in that for you it this be on with as or can if by not from when will your an have has which use'.split())
ok=[]
why=Counter()
for i,d in enumerate(D):
    t=d['text']; w=t.split()
    plain=[x for x in w if re.fullmatch(r"[A-Za-z][a-z'-]*[.,;:!?)]*",x)]
    stop=sum(x.lower().strip('.,') in STOP for x in w)
    if len(plain)<40: why['short']+=1; continue
    if len(plain)/len(w)<0.68: why['code']+=1; continue
    if stop/len(w)<0.27: why['nonprose']+=1; continue
    if len(re.findall(r'[.!?](\s|$)',t))<2: why['sent']+=1; continue
    if t.lower().startswith(("what's next",'learn more','read about')) : why['next']+=1; continue
    if i in dup: why['dup']+=1; continue
    ok.append(d['_id'])
print(len(ok),why,len(dup))
pick=sorted(random.Random(20261115).sample(sorted(ok,key=int),310),key=int)
json.dump(pick,open('picked.json','w'))
